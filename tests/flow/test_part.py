"""One part as a real process: what it sees, what ends it, and that nothing of it stays."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from shop import HOST, ROOT, Shop, verdict, worker

from colony.core.endings import Ending
from colony.core.session import Outcome
from colony.host.clock import SystemClock
from colony.host.identity import pids
from colony.host.signals import StopSignals
from tests.fakes.meddled import Call, Moment


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Parts know nothing of the tracker: one edge is enough."""
    made = Shop(tmp_path / "shop")
    yield made
    made.close()


CLOCK = SystemClock()
PATIENCE_S = 30.0
MARK = f"{74_000_000 + os.getpid()}"
"""Seconds that only processes of this test process sleep: so they can be found."""

CANARIES = {
    "COLONY_TICKETS_TOKEN": "tkt_canary",
    "COLONY_PERSON_TOKEN_FILE": "/canary/token",
    "COLONY_CREATOR_TOKEN_FILE": "/canary/creator",
    "COLONY_SESSION": "s-canary",
    "COLONY_ANYTHING": "canary",
    "TICKETS_TOKEN": "tkt_canary",
    "AWS_SECRET_ACCESS_KEY": "canary",
    "GITHUB_TOKEN": "canary",
    "SSH_AUTH_SOCK": "/canary/agent",
    "PYTHONPATH": "/canary/python",
    "LD_PRELOAD": "",
}
PASSED_ON = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/worker",
    "LANG": "C.UTF-8",
    "LC_TIME": "de_DE.UTF-8",
    "TZ": "Europe/Berlin",
    "HTTPS_PROXY": "http://proxy:3128",
    "SSL_CERT_FILE": "/etc/certs.pem",
}
LOOK_AROUND = [{"run": "cat /proc/$PPID/environ > environ; touch $TMPDIR/here; ls $TMPDIR > tmp"}]


def until(happened: object, seconds: float = PATIENCE_S) -> None:
    """Look again and again until it happened; fail when it does not."""
    assert callable(happened)
    deadline = CLOCK.boot_s() + seconds
    while not happened():
        assert CLOCK.boot_s() < deadline, "it did not happen in time"
        select.select([], [], [], 0.005)


def asleep() -> list[int]:
    """Processes that hold the mark."""
    mark = MARK.encode()
    found = []
    for pid in pids():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and mark in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    yield
    assert asleep() == []


def test_why_it_died_is_kept_without_secrets(shop: Shop) -> None:
    shop.secrets = {"GATE_CODE": "open-sesame-9"}
    shop.play(work=[{"sleep": "open-sesame-9 " + "x" * 300}])
    [first, *_] = shop.work().facts.parts
    assert first.how.startswith("crashed: ValueError: could not convert string to float: '[GATE_")
    assert "sesame" not in first.said
    assert len(first.said) == 200


# --- what it sees ------------------------------------------------------------------------------


def test_its_environment_is_the_allowlist_and_nothing_else(shop: Shop) -> None:
    shop.environ = CANARIES | PASSED_ON | {"OPTED_IN": "yes"}
    shop.pass_env = frozenset({"OPTED_IN", "COLONY_ANYTHING"})
    shop.secrets = {"GATE_CODE": "open-sesame-9"}
    shop.play(work=[*LOOK_AROUND, *worker()])
    facts = shop.work().facts
    seen = (shop.dev / "environ").read_bytes().decode().rstrip("\0").split("\0")
    own = shop.folder_of(facts.session).path / "tmp" / "1"
    assert dict(each.split("=", 1) for each in seen) == PASSED_ON | {
        "OPTED_IN": "yes",
        "GATE_CODE": "open-sesame-9",
        "COLONY_SESSION": facts.session,
        "COLONY_PORTS": "8700-8709",
        "COLONY_PORT_FROM": "8700",
        "COLONY_PORT_TO": "8709",
        "TMPDIR": str(own),
    }


def test_its_scratch_space_is_its_own_and_goes_with_it(shop: Shop) -> None:
    shop.play(work=[*LOOK_AROUND, *worker()])
    session = shop.work().facts.session
    assert (shop.dev / "tmp").read_text() == "here\n"
    assert list((shop.folder_of(session).path / "tmp").iterdir()) == []


def test_its_prompt_comes_on_its_standard_input(shop: Shop) -> None:
    shop.play(
        work=[{"when": "It does not open.", "then": worker(), "otherwise": [{"exit": 3}]}],
        check=[{"when": "The gate opens again.", "then": verdict(), "otherwise": [{"exit": 3}]}],
    )
    assert shop.work().facts.outcome == Outcome.POSTED


def test_a_controller_gets_no_tool_that_writes(shop: Shop) -> None:
    look = {"run": "tr '\\0' ' ' < /proc/$PPID/cmdline > {cwd}/argv"}
    shop.play(check=[look, {"recheck": True}])
    shop.work()
    told = (shop.dev / "argv").read_text()
    assert "--disallowedTools" in told
    for tool in ("Edit", "Write", "NotebookEdit"):
        assert tool in told.split("--disallowedTools")[1]


def test_what_it_leaves_is_for_its_user_alone(shop: Shop) -> None:
    session = shop.work().facts.session
    run = shop.folder_of(session).path
    found = [path for path in run.rglob("*") if run / "agent" not in path.parents]
    assert {"brief.md", "report.json", "verdict.json", "session.json", "controller-prompt.md"} <= {
        each.name for each in found
    }
    for path in (run, *found):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_test_credentials_are_masked_in_what_is_kept(shop: Shop) -> None:
    shop.secrets = {"GATE_CODE": "open-sesame-9"}
    evidence = [{"claim": "it opens", "command": "echo", "output": "{output}"}]
    shop.play(
        work=[
            {"run": "echo code $GATE_CODE"},
            {"answer": worker()[1]["answer"] | {"verified": evidence, "done": ["{output}"]}},
        ],
        check=verdict(),
    )
    facts = shop.work().facts
    run = shop.folder_of(facts.session)
    for name in ("report.json", "controller-prompt.md", "verdict.json", "brief.md", "session.json"):
        kept = run.read(name, 1_000_000)
        assert kept is not None
        assert b"open-sesame-9" not in kept, name
    report = run.read("report.json", 1_000_000)
    assert report is not None
    assert b"code [GATE_CODE]" in report
    assert not any("open-sesame-9" in text for text in shop.told())


# --- what it leaves running --------------------------------------------------------------------


def test_a_daemon_ends_with_its_part(shop: Shop) -> None:
    """Started by `setsid`, with nothing to hold it by."""
    counted: list[int] = []
    shop.play(work=[{"daemon": f"exec setsid sleep {MARK}"}, {"run": "true"}, *worker()])

    def saved(moment: str) -> None:
        counted.append(len(asleep()))

    assert shop.go(shop.new().session, saved=saved).facts.outcome == Outcome.POSTED
    assert counted[-1] == 0


def a_listener(port: int) -> subprocess.Popen[bytes]:
    """A server that nobody's box holds."""
    script = (
        f"import socket, time; it = socket.create_server(('127.0.0.1', {port})); "
        f"print(flush=True); time.sleep({MARK})"
    )
    started = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert started.stdout
    started.stdout.readline()
    started.stdout.close()
    return started


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_listener_on_its_ports_is_told_and_stopped_when_it_came_with_the_part(
    shop: Shop, when: str
) -> None:
    port = free_port()
    found = [a_listener(port)] if when == "before" else []

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and not found and parts and parts[0].process is not None:
            select.select([], [], [], 0.06)  # later than the part by more than a clock's tick
            found.append(a_listener(port))

    session = shop.new(ports=(port, port)).session
    try:
        facts = shop.go(session, saved=saved).facts
        [told] = facts.parts[0].cleanup
        if when == "during":
            assert told.startswith(f"stopped pid {found[0].pid} on port {port} (TERM)")
            assert found[0].wait(PATIENCE_S) == -signal.SIGTERM
            assert "work.cleanup" in shop.kinds()
        else:
            assert told.startswith(f"skipped pid {found[0].pid} on port {port}")
            assert found[0].poll() is None
    finally:
        for each in found:
            each.kill()
            each.wait()


# --- what ends it ------------------------------------------------------------------------------


def test_its_time_is_up(shop: Shop) -> None:
    shop.play(work=[{"ignore_term": True}, {"run": f"sleep {MARK}"}])
    ended = shop.work(worker=shop.runner(timeout_s=1))
    [part] = ended.facts.parts
    assert (part.ended, part.cause) == (Ending.OUT_OF_TIME, "time")
    assert (ended.facts.outcome, shop.state) == (Outcome.NO_REPORT, "open")


@pytest.mark.parametrize("state", ["done", "pending"])
def test_a_part_whose_ticket_a_person_moved_is_ended(shop: Shop, state: str) -> None:
    """F45: noticed at the next renewal, and the state stays."""
    shop.play(work=[{"run": f"sleep {MARK}"}])

    def meddle(moment: Moment, call: Call) -> None:
        if moment == "before" and call.writes and call.number == 3 and asleep():
            shop.moves(state)  # type: ignore[arg-type]

    session = shop.new(heartbeat_ms=500).session
    ended = shop.go(session, meddle)
    [part] = ended.facts.parts
    assert (part.ended, ended.facts.outcome) == (Ending.LEASE_LOST, Outcome.MOVED)
    assert shop.state == state
    assert "nothing was posted" in ended.line.text


def test_renewals_are_written_down_while_it_runs(shop: Shop) -> None:
    session = shop.new(heartbeat_ms=50).session
    go = shop.folder / "go"
    shop.play(work=[{"run": f"while [ ! -e {go} ]; do sleep 0.02; done"}, *worker()])

    def saved(moment: str) -> None:
        lease = shop.facts(session).lease
        if lease is not None and lease.renewals >= 2:
            go.touch()

    facts = shop.go(session, saved=saved).facts
    assert facts.lease is not None
    assert facts.lease.renewals >= 2
    assert sum("· renewed ·" in text for text in shop.told()) >= facts.lease.renewals


def test_a_stop_ends_the_part_and_keeps_the_session(shop: Shop) -> None:
    again = {"when": "an earlier start", "then": worker(), "otherwise": [{"hang": True}]}
    shop.play(work=[again], resume=worker())
    session = shop.new().session
    with StopSignals() as signals:
        shop.signals = signals

        def saved(moment: str) -> None:
            parts = shop.facts(session).parts
            if moment == "after" and parts and parts[-1].process and not signals.count:
                os.kill(os.getpid(), signal.SIGTERM)

        ended = shop.go(session, saved=saved)
    shop.signals = None
    assert (ended.line.kind, ended.exit_code) == ("parked", 0)
    assert f"{session} is kept" in ended.line.text
    facts = shop.facts(session)
    assert [part.ended for part in facts.parts] == [Ending.STOPPED]
    assert (facts.outcome, shop.state) == (None, "progress")
    assert shop.go(session).facts.outcome == Outcome.POSTED


@pytest.fixture
def on_file(tmp_path: Path) -> Iterator[Shop]:
    """A shop that processes of the whole program can work in."""
    folder = tmp_path / "shop"
    made = Shop(folder, f"sqlite:///{folder}/colony.db")
    yield made
    made.close()


@contextlib.contextmanager
def colony_work(shop: Shop) -> Iterator[subprocess.Popen[bytes]]:
    """`colony work shop 1 --post`; its lines go to the file `out`."""
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(shop.folder),
        "COLONY_HOME": str(shop.folder),
        "COLONY_TICKETS_URL": shop.url,
        "COLONY_AGENT": "stand-in",
        "COLONY_STAND_IN_SCRIPT": str(shop.script),
        "COLONY_SANDBOX": "off",
        "COLONY_HOST": HOST,
    }
    words = [sys.executable, "-m", "colony", "work", "shop", "1", "--post", "--json"]
    with (shop.folder / "out").open("wb") as out:
        started = subprocess.Popen(words, env=environ, cwd=shop.folder, stdout=out, stderr=out)
        try:
            yield started
        finally:
            started.kill()
            started.wait()


def goes_on(shop: Shop) -> None:
    """The next process goes on with the session that is there, to its end."""
    [session] = shop.sessions
    with colony_work(shop) as again:
        assert again.wait(PATIENCE_S) == 0
    told = [json.loads(line) for line in (shop.folder / "out").read_text().splitlines()]
    assert [each["session"] for each in told if each["kind"] == "work.again"] == [session]
    assert told[-1]["kind"] == "work.done"
    assert shop.sessions == [session]
    assert shop.state == "review"


@pytest.mark.parametrize("agent", ["polite", "deaf"])
def test_stopped_from_outside_it_is_down_within_three_seconds_and_goes_on_next_time(
    on_file: Shop, agent: str
) -> None:
    """F12, F15: the whole program, with an agent that obeys SIGTERM and one that does not."""
    deaf = [{"ignore_term": True}] if agent == "deaf" else []
    waits = [*deaf, {"daemon": f"sleep {MARK}"}, {"run": f"sleep {MARK}"}]
    on_file.play(work=waits, resume=worker())
    with colony_work(on_file) as first:
        until(lambda: len(asleep()) >= 2)
        stopped_s = CLOCK.boot_s()
        first.send_signal(signal.SIGTERM)
        assert first.wait(PATIENCE_S) == 0
        assert CLOCK.boot_s() - stopped_s < 3.0
    assert asleep() == []
    [session] = on_file.sessions
    assert on_file.facts(session).parts[0].ended == Ending.STOPPED
    goes_on(on_file)


def test_killed_while_its_part_runs_the_part_dies_and_the_session_goes_on(on_file: Shop) -> None:
    """F3, F4: SIGKILL to Colony; nothing of the agent outlives it."""
    waits = [{"daemon": f"exec setsid sleep {MARK}"}, {"run": f"sleep {MARK}"}]
    on_file.play(work=waits, resume=worker())
    with colony_work(on_file) as first:
        until(lambda: len(asleep()) >= 2)
        first.kill()
        first.wait()
    until(lambda: not asleep(), 5)
    [session] = on_file.sessions
    assert on_file.facts(session).parts[0].ended is None
    goes_on(on_file)
    facts = on_file.facts(session)
    assert [part.ended for part in facts.parts] == [Ending.CRASHED, Ending.REPORT, Ending.REPORT]
    assert list((on_file.folder_of(session).path / "tmp").iterdir()) == []
