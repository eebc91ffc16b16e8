"""A part's process: the gate, what it gets, how it ends, and that nothing of it is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from colony.core.endings import Exit
from colony.errors import ColonyError, Refused, UsageProblem
from colony.host.box import Namespaces, NoBox, Subreaper
from colony.host.identity import command_of, environment_of, identify, is_alive, stat_of
from colony.host.process import Unkillable, spawn
from tests.host.conftest import MARK, PATIENCE_S, SLEEP, Parts, marked, namespaces, until

ROOT = Path(__file__).resolve().parents[2]


# --- the gate --------------------------------------------------------------------------------


def test_nothing_runs_before_go_and_the_pid_on_record_is_the_agents(parts: Parts) -> None:
    running = parts.spawn(parts.command(f"echo here; exec {SLEEP}"))
    recorded = running.agent
    assert is_alive(recorded)
    assert "gate" in command_of(recorded.pid)
    assert not parts.out.read_text()
    running.go()
    parts.says("here")
    until(lambda: command_of(recorded.pid) == SLEEP)
    assert is_alive(recorded)


def test_a_part_that_is_never_let_in_ends_without_having_run(parts: Parts) -> None:
    with spawn(parts.command(f"echo here; {SLEEP}"), parts.containment) as running:
        assert running.wait(0) is None
    assert not is_alive(running.agent)
    assert not parts.out.read_text()


DIES_AT_THE_GATE = """
import os, sys
from pathlib import Path
from tests.host.conftest import Parts, namespaces, detect, CLOCK
kind, folder, mark = sys.argv[1:]
box = namespaces() if kind == "Namespaces" else detect("off", CLOCK, search="/nonexistent")
parts = Parts(Path(folder), box)
running = parts.spawn(parts.command("echo here; sleep " + mark))
print(running.agent.pid, flush=True)
os._exit(0)
"""


def test_end_of_file_instead_of_go_ends_the_box(parts: Parts) -> None:
    kind = type(parts.containment).__name__
    done = subprocess.run(
        [sys.executable, "-c", DIES_AT_THE_GATE, kind, str(parts.folder), MARK],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    until(lambda: stat_of(int(done.stdout)) is None)
    assert not parts.out.read_text()


KILLED_AT_ANY_MOMENT = """
import os, select, signal, sys
from pathlib import Path
from tests.host.conftest import Parts, namespaces, detect, CLOCK
kind, folder, mark = sys.argv[1:]
box = namespaces() if kind == "Namespaces" else detect("off", CLOCK, search="/nonexistent")
parts = Parts(Path(folder), box)
for number in range(100):
    parent = os.fork()
    if parent == 0:
        running = parts.spawn(parts.command("exec sleep " + mark))
        running.go()
        running.wait(None)
    select.select([], [], [], number * 0.0003)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
"""


def test_an_agent_never_outlives_a_caller_killed_right_after_the_spawn(parts: Parts) -> None:
    kind = type(parts.containment).__name__
    subprocess.run(
        [sys.executable, "-c", KILLED_AT_ANY_MOMENT, kind, str(parts.folder), MARK],
        cwd=ROOT, check=True,
    )  # fmt: skip
    until(lambda: not marked(), 5)


KILLED_LATER = """
import sys
from pathlib import Path
from tests.host.conftest import Parts, namespaces, detect, CLOCK
kind, folder, mark = sys.argv[1:]
box = namespaces() if kind == "Namespaces" else detect("off", CLOCK, search="/nonexistent")
parts = Parts(Path(folder), box)
running = parts.start("echo up; exec sleep " + mark)
parts.says("up")
print(running.agent.pid, flush=True)
running.wait(None)
"""


def test_an_agent_at_work_dies_with_its_caller(parts: Parts) -> None:
    kind = type(parts.containment).__name__
    with subprocess.Popen(
        [sys.executable, "-c", KILLED_LATER, kind, str(parts.folder), MARK],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    ) as caller:  # fmt: skip
        assert caller.stdout
        agent = identify(int(caller.stdout.readline()))
        assert agent
        caller.kill()
    until(lambda: not is_alive(agent), 5)


# --- what the agent gets ---------------------------------------------------------------------


def test_the_environment_is_exactly_what_was_given(parts: Parts) -> None:
    given = {"COLONY_SESSION": "s", "A": "", "B": "two\nlines ' \" $HOME \\", "PYTHONHOME": "/x"}
    command = parts.command("", env=given)
    running = parts.spawn(replace(command, argv=("/usr/bin/env", "-0")))
    running.go()
    assert running.wait(PATIENCE_S) == Exit(code=0)
    told = dict(line.split("=", 1) for line in parts.out.read_text().split("\0") if line)
    assert told == given


def test_the_shells_own_variables_are_not_passed_on(parts: Parts) -> None:
    command = parts.command("", env={"IFS": "x", "SHLVL": "9", "PWD": "/root", "KEPT": "1"})
    running = parts.spawn(replace(command, argv=("/usr/bin/env",)))
    running.go()
    running.wait(PATIENCE_S)
    assert parts.out.read_text() == "KEPT=1\n"


def test_no_variable_of_the_agent_reaches_the_box_and_none_a_command_line(parts: Parts) -> None:
    if isinstance(parts.containment, Subreaper):
        pytest.skip("asked of the bubblewrap box only: without one nothing is protected")
    env = {"COLONY_SESSION": "s", "LD_PRELOAD": "/nonexistent.so", "KEY": f"secret{MARK}"}
    running = parts.spawn(parts.command(SLEEP, env=env))
    gate = stat_of(running.agent.pid)
    assert gate
    first = stat_of(gate.parent)
    assert first
    for pid in (gate.parent, first.parent):
        assert set(environment_of(pid)) <= {
            b"COLONY_SESSION=s",
            b"PWD=" + os.fsencode(parts.folder),
            b"",
        }
        assert "secret" not in Path(f"/proc/{pid}/cmdline").read_text()


def test_the_descriptors_inside_are_the_three_standard_ones(parts: Parts) -> None:
    """F78: not even those that Colony itself inherited."""
    leaked = os.dup2(0, 77, inheritable=True)
    try:
        running = parts.start("ls /proc/$$/fd")
        assert running.wait(PATIENCE_S) == Exit(code=0)
    finally:
        os.close(leaked)
    assert parts.out.read_text().split() == ["0", "1", "2"]


def test_signals_are_those_of_a_fresh_program(parts: Parts) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        running = parts.start("grep -E '^Sig(Blk|Ign)' /proc/self/status")
        assert running.wait(PATIENCE_S) == Exit(code=0)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGHUP, before)
    of_the_c_library = 0b11 << 31
    for line in parts.out.read_text().splitlines():
        assert int(line.split()[1], 16) & ~of_the_c_library == 0


def test_input_is_a_file_and_outputs_are_private_files(parts: Parts) -> None:
    prompt = parts.folder / "prompt"
    prompt.write_text("a prompt\n")
    running = parts.spawn(parts.command("cat; pwd; echo oops >&2", stdin=str(prompt)))
    running.go()
    assert running.wait(PATIENCE_S) == Exit(code=0)
    assert parts.out.read_text() == f"a prompt\n{parts.folder}\n"
    assert parts.err.read_text() == "oops\n"
    assert parts.out.stat().st_mode & 0o777 == parts.err.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"argv": ()}, UsageProblem),
        ({"argv": ("/opt/a=b/agent",)}, UsageProblem),
        ({"argv": ("-x",)}, UsageProblem),
        ({"argv": ("/bin/true", "nul\0")}, UsageProblem),
        ({"env": {"a.b": "1"}}, UsageProblem),
        ({"env": {"BASH_FUNC_x%%": "() { :; }"}}, UsageProblem),
        ({"env": {"A": "nul\0"}}, UsageProblem),
        ({"env": {"A": "\ud800"}}, UsageProblem),
        ({"cwd": Path("/nonexistent")}, Refused),
        ({"stdin": Path("/nonexistent")}, Refused),
        ({"stdin": Path("/tmp")}, Refused),
        ({"stdout": Path("/dev/zero")}, Refused),
        ({"argv": ("/bin/true", "x" * 200_000)}, NoBox),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_in_one_line(
    parts: Parts, change: dict[str, object], error: type[ColonyError]
) -> None:
    command = replace(parts.command("true"), **change)  # type: ignore[arg-type]
    with pytest.raises(error) as caught:
        spawn(command, parts.containment)
    assert caught.value.line and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_links_and_fifos_are_no_files_of_a_part(parts: Parts, name: str) -> None:
    """F62, F63: no hang, and nothing is written through a link."""
    target = parts.folder / "target"
    target.write_text("kept")
    link, fifo = parts.folder / "link", parts.folder / "fifo"
    link.symlink_to(target)
    os.mkfifo(fifo)
    for path in (link, fifo):
        with pytest.raises(Refused):
            spawn(replace(parts.command("echo lost"), **{name: path}), parts.containment)
    assert target.read_text() == "kept"


# --- how it ends -----------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 7, 127])
def test_the_exit_code_comes_through(parts: Parts, code: int) -> None:
    assert parts.start(f"exit {code}").wait(PATIENCE_S) == Exit(code=code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_signal_comes_through(parts: Parts, number: signal.Signals) -> None:
    assert parts.start(f"kill -{number.value} $$").wait(PATIENCE_S) == Exit(signal=number)


def test_a_program_that_is_missing_ends_with_127(parts: Parts) -> None:
    running = parts.spawn(replace(parts.command(""), argv=("/nonexistent/agent",)))
    running.go()
    assert running.wait(PATIENCE_S) == Exit(code=127)
    assert "/nonexistent/agent" in parts.err.read_text()


def test_sigterm_reaches_the_agent_and_its_own_exit_code_counts(parts: Parts) -> None:
    running = parts.start(f"trap 'exit 42' TERM; echo up; {SLEEP} & wait")
    parts.says("up")
    assert running.stop(PATIENCE_S) == Exit(code=42)


def test_an_agent_that_ignores_sigterm_is_killed_after_the_grace(parts: Parts) -> None:
    """F15"""
    running = parts.start(f"trap '' TERM; echo up; {SLEEP} & wait")
    parts.says("up")
    assert running.stop(0.1) == Exit(signal=signal.SIGKILL)
    assert not marked()


def test_a_stopped_agent_is_killed(parts: Parts) -> None:
    running = parts.start("kill -STOP $$")
    until(lambda: (stat := stat_of(running.agent.pid)) and stat.state == "T")
    assert running.stop(0.1) == Exit(signal=signal.SIGKILL)


def test_stopping_at_the_gate_and_stopping_twice(parts: Parts) -> None:
    running = parts.spawn(parts.command("true"))
    first = running.stop(1)
    assert first == running.stop(1) == running.kill() == running.wait(0)
    running.go()


@pytest.mark.parametrize(
    "leave",
    [
        "setsid nohup SLEEP >/dev/null 2>&1 </dev/null & exit 0",
        "(setsid sh -c 'SLEEP & exit' &) ; exit 0",
        "env -i setsid SLEEP & exit 0",
        "trap '' TERM HUP INT; setsid SLEEP & exit 0",
        "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'SLEEP & SLEEP' &); done; exit 0",
    ],
    ids=["nohup", "double fork", "no environment", "deaf", "many"],
)
def test_nothing_that_the_agent_left_running_outlives_the_part(parts: Parts, leave: str) -> None:
    """F16: whatever session, process group or environment it moved to."""
    assert parts.start(leave.replace("SLEEP", SLEEP)).wait(PATIENCE_S) == Exit(code=0)
    assert not marked()


def test_short_children_leave_no_zombies(parts: Parts) -> None:
    """F17: orphans are reaped while the agent still runs."""
    script = "i=0; while [ $i -lt 1000 ]; do (true &); i=$((i+1)); done; echo done; " + SLEEP
    running = parts.start(script)
    parts.says("done")
    box = psutil.Process(stat.parent if (stat := stat_of(running.agent.pid)) else 0)
    until(
        lambda: (
            not [
                child
                for child in box.children(recursive=True)
                if child.status() == psutil.STATUS_ZOMBIE
            ]
        )
    )


def test_waiting_ends_with_the_time_or_a_wake_up(parts: Parts) -> None:
    running = parts.start(SLEEP)
    assert running.wait(0) is None
    assert running.wait(0.01) is None
    reader, writer = os.pipe()
    try:
        os.write(writer, b"!")
        assert running.wait(None, wake=reader) is None
        assert is_alive(running.agent)
    finally:
        os.close(reader)
        os.close(writer)


def test_memory_of_the_whole_box_is_looked_at(parts: Parts) -> None:
    held = "import os, sys; kept = b'x' * 60_000_000; os.write(1, b'up'); sys.stdin.read()"
    running = parts.start(f'{SLEEP} | /usr/bin/python3 -c "{held}" & wait')
    parts.says("up")
    running.wait(0)
    assert 60_000_000 < running.peak_bytes < 200_000_000
    running.kill()
    assert running.oom_kills >= 0


def test_only_the_main_thread_may_start_a_part(parts: Parts) -> None:
    caught: list[BaseException] = []

    def start() -> None:
        try:
            spawn(parts.command("true"), parts.containment)
        except RuntimeError as problem:
            caught.append(problem)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main" in str(caught[0])


def test_descriptors_are_given_back(parts: Parts) -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    parts.start("true").wait(PATIENCE_S)
    before = opened()
    for _ in range(5):
        parts.start("true").wait(PATIENCE_S)
        with pytest.raises(Refused):
            parts.spawn(replace(parts.command("true"), stderr=Path("/tmp")))
    assert opened() == before


MEMORY = Path("/sys/fs/cgroup/memory")
HUNGRY = "import sys; kept = [bytearray(b'x' * 1_000_000) for _ in range(500)]"


@pytest.mark.skipif(
    not os.access(MEMORY / "memory.limit_in_bytes", os.W_OK) or os.geteuid() != 0,
    reason="needs root and the memory controller of cgroup v1",
)
def test_a_kill_for_want_of_memory_is_counted(parts: Parts) -> None:
    """F19"""
    group = MEMORY / f"colony-test-{MARK}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(64 << 20))
        running = parts.spawn(replace(parts.command(""), argv=("/usr/bin/python3", "-c", HUNGRY)))
        (group / "cgroup.procs").write_text(str(running.agent.pid))
        running.go()
        assert running.wait(PATIENCE_S) == Exit(signal=signal.SIGKILL)
        assert running.oom_kills >= 1
    finally:
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.mark.skipif(
    not os.access(FREEZER / "cgroup.procs", os.W_OK) or os.geteuid() != 0,
    reason="needs root and the freezer of cgroup v1",
)
def test_what_hangs_in_the_kernel_is_said_to_hang(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F15: a frozen process outlives SIGKILL; its slot must not be taken for free."""
    running = parts.start(f"exec {SLEEP}")
    group = FREEZER / f"colony-test-{MARK}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(running.agent.pid))
        (group / "freezer.state").write_text("FROZEN")
        until(lambda: (group / "freezer.state").read_text() == "FROZEN\n")
        with monkeypatch.context() as hasty, pytest.raises(Unkillable):
            hasty.setattr("colony.host.process.DYING_S", 0.3)
            running.kill()
    finally:
        (group / "freezer.state").write_text("THAWED")
        running.kill()
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


# --- a box that cannot be built --------------------------------------------------------------


def test_what_bubblewrap_says_is_the_reason(parts: Parts) -> None:
    if not isinstance(parts.containment, Namespaces):
        pytest.skip("asked of the bubblewrap box only: without one nothing is built")
    broken = replace(parts.containment, mounts=("--bind", "/nonexistent", "/x"))
    with pytest.raises(NoBox, match="/nonexistent"):
        spawn(parts.command("true"), broken)
    with pytest.raises(NoBox, match="no reason"):
        spawn(
            replace(parts.command("true"), stderr=Path(os.devnull)),
            replace(broken, bwrap="/bin/false"),
        )
    with pytest.raises(NoBox, match="/nonexistent/bwrap"):
        spawn(parts.command("true"), replace(broken, bwrap="/nonexistent/bwrap"))
    assert not psutil.Process().children()


# --- without rights --------------------------------------------------------------------------

UNPRIVILEGED = """
import sys
from dataclasses import replace
from pathlib import Path
from colony.core.endings import Exit
from colony.host.box import WHOLE_MACHINE, detect
from colony.host.clock import SystemClock
from colony.host.launch import Command
from colony.host.process import spawn
from colony.host.sweep import sweep
folder, mark = Path(sys.argv[1]), sys.argv[2]
clock = SystemClock()
hard = replace(detect("on", clock), mounts=WHOLE_MACHINE)
for box in (hard, detect("off", clock, search="/nonexistent")):
    env = {"PATH": "/usr/bin:/bin", "COLONY_SESSION": "test-" + mark}
    script = f"setsid sleep {mark} & trap 'exit 42' TERM; echo up; sleep {mark} & wait"
    for word in ("stop", "kill"):
        out = folder / f"{type(box).__name__}-{word}"
        command = Command(("/bin/sh", "-c", script), env, folder, Path("/dev/null"), out, out)
        running = spawn(command, box)
        running.go()
        while "up" not in out.read_text():
            running.wait(0.005)
        ended = running.stop(20) if word == "stop" else running.kill()
        assert ended == (Exit(code=42) if word == "stop" else Exit(signal=9)), ended
        assert not sweep("test-" + mark, clock), "something was left"
print("fine")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_without_rights_has_both_tiers(tmp_path: Path) -> None:
    namespaces()
    python = "/usr/bin/python3"
    asked = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if not shutil.which("setpriv") or subprocess.run(asked, check=False).returncode:
        pytest.skip(f"needs setpriv and {python} of 3.11 or later")
    for folder in [tmp_path, *tmp_path.parents][:4]:
        folder.chmod(0o777 if folder == tmp_path else 0o755)
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    done = subprocess.run(
        [*nobody, python, "-B", "-c", UNPRIVILEGED, str(tmp_path), MARK],
        cwd="/", env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "fine\n", done.stderr
