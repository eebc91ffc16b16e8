"""`colony doctor`: from a bare machine to one that works, and what is wrong on the way."""

from __future__ import annotations

import json
import re
import shutil
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from colony.core.doctor import WORDS
from colony.flow.doctor.examining import LIMIT_S, examine
from colony.flow.doctor.machine import CALL_S
from colony.host.lock import lock_file
from tests.cli.conftest import ONE_TRY, Done
from tests.cli.stage import Stage, answer, make_stage, told, valid
from tests.cli.test_serve_verb import started
from tests.fakes.bare_tracker import BareTracker, Speaks


def rows(done: Done) -> dict[str, str]:
    """Each thing with the first word of its line and what is said of it."""
    found = (re.fullmatch(r"DOCTOR (ok|warn|FAIL) +(.+?) — (.*)", each) for each in done.lines)
    return {each[2]: f"{each[1]} {each[3]}" for each in found if each}


def bare(tmp_path: Path, *programs: str) -> Stage:
    """An empty home on a machine with Python only, and the programs that are named."""
    stage = make_stage(tmp_path)
    shutil.rmtree(stage.home)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for program in programs:
        (bin_ / program).symlink_to(shutil.which(program) or "/nowhere")
    for name in ("COLONY_AGENT", "COLONY_STAND_IN_SCRIPT", "COLONY_SANDBOX"):
        del stage.environ[name]
    stage.environ["PATH"] = str(bin_)
    return stage


def mended(stage: Stage, done: Done) -> None:
    """Do what the first failing line says, and nothing else."""
    line = next(each for each in done.lines if each.startswith("DOCTOR FAIL"))
    command = re.search(r"`colony ([^`]+)`", line)
    setting = re.search(r"(COLONY_[A-Z_]+)=(\S+)", line)
    if command:
        words = command[1].replace("FOLDER", str(stage.cwd / "shop")).split()
        assert stage(*words).code == 0
        return
    assert setting, line
    with (stage.home / ".env").open("a") as file:
        file.write(f"{setting[1]}={setting[2]}\n")


def test_it_leads_from_a_bare_machine_to_a_working_one(tmp_path: Path) -> None:
    stage = bare(tmp_path)
    (stage.cwd / "shop").mkdir()
    done = stage("doctor")
    assert not stage.home.exists(), "doctor has written something"
    assert (done.code, done.err) == (1, "")
    assert done.lines[-1] == (
        "DOCTOR: 4 things to mend first: projects, tracker, sandbox, agent claude"
    )
    steps = 0
    while done.code:
        assert steps < 8, done.out
        mended(stage, done)
        done = stage("doctor")
        steps += 1
    assert done.lines[-1].startswith("DOCTOR: all in order")
    assert stage("ticket", "new", "A cart").code == 0
    # The built-in small job of the stand-in ends with a report.
    worked = stage("work", "shop", "1", "--post")
    assert worked.code == 0, worked


def test_it_leads_to_a_real_agent(tmp_path: Path) -> None:
    """The lines name the setting, then the login; the program itself is asked its version."""
    stage = bare(tmp_path)
    fake = tmp_path / "claude"
    fake.write_text("#!/bin/sh\necho '2.1.197 (Claude Code)'\n")
    fake.chmod(0o755)
    assert "COLONY_CLAUDE" in rows(stage("doctor"))["agent claude"]
    stage.environ["COLONY_CLAUDE"] = str(fake)
    old = rows(stage("doctor"))["agent claude"]
    assert old.startswith(f"FAIL {fake} is Claude Code 2.1.197; Colony needs 2.1.280 or newer: ")
    assert "`npm install -g @anthropic-ai/claude-code@" in old
    fake.write_text("#!/bin/sh\necho '2.1.328 (Claude Code)'\n")
    assert "set ANTHROPIC_API_KEY" in rows(stage("doctor"))["agent claude"]
    stage.environ["ANTHROPIC_API_KEY"] = "sk-ant-hunter2"
    done = stage("doctor")
    assert rows(done)["agent claude"] == (
        "ok 2.1.328 (Claude Code), login by ANTHROPIC_API_KEY (found, not tried)"
    )
    assert "hunter2" not in done.out
    fake.write_text("#!/bin/sh\nexec sleep 600\n")
    stage.environ["PATH"] = "/usr/bin:/bin"
    hurry = "from colony.flow.doctor import agents; agents.CALL_S = 0.5"
    assert "no answer within 0.5 s" in rows(stage.hurried(hurry, "doctor"))["agent claude"]


def test_a_controllers_own_program_is_looked_at_too(tmp_path: Path) -> None:
    stage = bare(tmp_path)
    fake, other = tmp_path / "claude", tmp_path / "other"
    for path, version in ((fake, "2.1.328"), (other, "2.1.197")):
        path.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        path.chmod(0o755)
    stage.environ |= {"COLONY_CLAUDE": str(fake), "ANTHROPIC_API_KEY": "sk-ant-hunter2"}

    def said(**environ: str) -> list[str]:
        done = stage("doctor", **environ)
        return [each for each in done.lines if re.search("^DOCTOR [a-zA-Z]+ +agent claude ", each)]

    [worker] = said()
    assert said(COLONY_CONTROLLER_CLAUDE=str(fake)) == [worker]
    [again, controller] = said(COLONY_CONTROLLER_CLAUDE=str(other))
    assert again == worker
    assert f"{other} is Claude Code 2.1.197; Colony needs" in controller


def test_a_stored_login(tmp_path: Path) -> None:
    stage = bare(tmp_path)
    fake = tmp_path / "claude"
    fake.write_text("#!/bin/sh\necho '2.1.328 (Claude Code)'\n")
    fake.chmod(0o755)
    login = tmp_path / ".claude"
    login.mkdir()
    (login / ".credentials.json").write_text('{"claudeAiOauth": {"accessToken": "hunter2"}}')
    done = stage("doctor", COLONY_CLAUDE=str(fake))
    assert f"login stored in {login}" in rows(done)["agent claude"]
    assert "hunter2" not in done.out


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = make_stage(tmp_path)
    made.register("shop")
    made.ticket()
    return made


def test_a_machine_in_order(stage: Stage) -> None:
    before, files = stage.store(), sorted(stage.home.rglob("*"))
    done = stage("doctor")
    assert done.code == 0
    found = rows(done)
    assert found["tracker"] == f"ok {stage.database}: 1 project, 1 ticket"
    assert found["who is who"].startswith("ok you are anna, an owner; Colony is colony, a machine")
    assert found["project shop"].startswith("warn its folder is no git repository")
    assert found["runs"].startswith("ok")
    assert found["agent stand-in"].startswith("warn")
    assert (stage.store(), sorted(stage.home.rglob("*"))) == (before, files)


def test_json_says_the_same(stage: Stage) -> None:
    objects = valid(stage("doctor", "--json"))
    assert objects[-1]["kind"] == "doctor"
    assert {each["state"] for each in objects[:-1]} <= set(WORDS)
    texts = told(objects)
    plain = stage("doctor").lines
    assert [each.split(" — ")[0] for each in texts] == [each.split(" — ")[0] for each in plain]


def test_settings_that_cannot_be_used_do_not_hide_the_rest(stage: Stage) -> None:
    (stage.home / ".env").write_text("nonsense\nCOLONY_MAX_TURNS=none\nCOLONY_TZ=X/Y\n")
    done = stage("doctor", COLONY_PERSN="x")
    assert done.code == 1
    failed = [each for each in done.lines if each.startswith("DOCTOR FAIL settings")]
    assert len(failed) == 3
    assert f"{stage.home}/.env:2: COLONY_MAX_TURNS none: must be a whole number" in done.out
    assert "DOCTOR warn settings — COLONY_PERSN is no setting (did you mean" in done.out
    assert rows(done)["tracker"].startswith("ok")
    assert done.lines[-1] == "DOCTOR: 1 thing to mend first: settings"


def test_what_waits_for_the_settings_is_said(stage: Stage) -> None:
    done = stage("doctor", COLONY_PORT_POOL="8700-8701")
    assert done.code == 1
    assert done.lines[-2] == "DOCTOR warn settings — all other checks wait for them"
    assert "COLONY_PORTS_PER_SESSION 10: must fit into the pool 8700-8701" in done.out


def test_an_env_file_that_is_no_text(stage: Stage) -> None:
    (stage.home / ".env").write_bytes(b"\xff\xfe")
    done = stage("doctor")
    assert (done.code, done.err) == (1, "")
    assert "is not UTF-8 text" in done.out
    assert rows(done)["tracker"].startswith("ok")


def test_a_damaged_tracker(stage: Stage) -> None:
    stage.database.write_bytes(b"nonsense" * 1000)
    done = stage("doctor")
    assert (done.code, rows(done)["tracker"].split()[0]) == (1, "FAIL")
    assert stage.database.read_bytes() == b"nonsense" * 1000


def test_a_tracker_that_is_not_reached(stage: Stage) -> None:
    url = "http://anna:hunter2@127.0.0.1:9"
    done = stage.hurried(ONE_TRY, "doctor", COLONY_TICKETS_URL=url)
    assert (done.code, rows(done)["tracker"].split()[0]) == (1, "FAIL")
    assert "hunter2" not in done.out
    assert rows(done)["your token"].startswith("warn")


def failing(done: Done) -> list[str]:
    return [line for line in done.lines if line.startswith("DOCTOR FAIL")]


def test_a_served_tracker_that_is_down_is_told_once_with_what_to_do(stage: Stage) -> None:
    """Its tokens cannot be tried: they are no second thing to mend."""
    token = stage.cwd / "token"
    token.write_text("tkt_anything")
    token.chmod(0o600)
    tokens = {"COLONY_TOKEN_FILE": str(token), "COLONY_PERSON_TOKEN_FILE": str(token)}
    done = stage.hurried(ONE_TRY, "doctor", COLONY_TICKETS_URL="http://127.0.0.1:9", **tokens)
    [line] = failing(done)
    assert "http://127.0.0.1:9 cannot be reached" in line
    assert line.endswith(
        ": start it (`colony tracker serve`, on its host), or correct COLONY_TICKETS_URL"
    )
    said = "warn not tried, since the tracker was not reached"
    assert (rows(done)["Colony's token"], rows(done)["your token"]) == (said, said)
    assert done.lines[-1] == "DOCTOR: 1 thing to mend first: tracker"


@pytest.mark.parametrize("text", ["tkt_nobodys", "", None])
def test_a_token_that_is_no_good_is_told_once_with_what_to_do(
    stage: Stage, text: str | None
) -> None:
    token = stage.cwd / "token"
    if text is not None:
        token.write_text(text)
        token.chmod(0o600)
    with started(stage) as server:
        there = {"COLONY_TICKETS_URL": server.url}
        done = stage("doctor", COLONY_TOKEN_FILE=str(token), **there)
        [line] = failing(done)
        assert line.startswith("DOCTOR FAIL Colony's token — ")
        assert f"COLONY_TOKEN_FILE {token}" in line
        assert "`colony tracker token colony --machine --to FILE`" in line
        assert rows(done)["tracker"].startswith(f"warn {server.url}: what it holds is not seen")
        done = stage("doctor", COLONY_PERSON_TOKEN_FILE=str(token), **there)
        yours = next(each for each in failing(done) if "your token" in each)
        assert "`colony tracker token YOU --to FILE`, here COLONY_PERSON_TOKEN_FILE=FILE" in yours


def test_a_token_that_others_on_the_network_could_read(stage: Stage) -> None:
    token = {"COLONY_TOKEN_FILE": "/nowhere/token"}
    for url, given, warned in (
        ("http://tracker.invalid:9", token, True),
        ("http://tracker.invalid:9", {}, False),
        ("http://127.0.0.1:9", token, False),
        ("http://[::1]:9", token, False),
        ("https://tracker.invalid:9", token, False),
    ):
        done = stage.hurried(ONE_TRY, "doctor", COLONY_TICKETS_URL=url, **given)
        assert (rows(done).get("the way there", "").startswith("warn")) is warned, (url, given)
        said = "the token goes over the network unencrypted: https, or a tunnel"
        assert (said in done.out) is warned, (url, given)


def test_colony_under_a_persons_name(stage: Stage) -> None:
    assert rows(stage("doctor", COLONY_PERSON="colony"))["who is who"].startswith("FAIL you and")
    found = rows(stage("doctor", COLONY_PERSON="bo", COLONY_USER="anna"))
    assert found["who is who"].startswith("FAIL anna is a person there")


@pytest.mark.parametrize(
    ("keys", "state", "told_of"),
    [
        ({"dev": {"folder": "/nowhere/x"}}, "FAIL", "/nowhere/x is missing"),
        ({"concept": "none.md"}, "FAIL", "none.md does not exist: write it"),
        ({"workrs": True}, "FAIL", "unknown key 'workrs' (did you mean 'workers"),
        ({"env": {"KEY": "file:/nowhere/key"}}, "FAIL", "/nowhere/key does not exist"),
        ({"workers": False}, "ok", "takes no workers"),
        ({"dev": {"folder": "/x", "host": "elm"}}, "ok", "its workers run on elm"),
    ],
)
def test_a_project_that_lacks_something(
    stage: Stage, keys: dict[str, Any], state: str, told_of: str
) -> None:
    stage.register("bar", **keys)
    found = rows(stage("doctor"))
    assert found["project bar"].startswith(state)
    assert told_of.split(" (did", maxsplit=1)[0] in found["project bar"]
    assert "project shop" in found


def test_a_concept_that_nobody_filled_in(stage: Stage) -> None:
    folder = stage.cwd / "fresh"
    folder.mkdir()
    assert stage("init", "fresh").code == 0
    assert (
        "leaves unanswered, or guessed: What is it for, and for whom? What must it do?"
        in rows(stage("doctor"))["project fresh"]
    )
    (folder / "CONCEPT.md").write_text("# Tea\n")
    (folder / ".git").mkdir()
    assert rows(stage("doctor"))["project fresh"] == f"ok {folder}"


def test_ports_that_others_hold(stage: Stage) -> None:
    first = int(stage.environ["COLONY_PORT_POOL"].split("-")[0])
    with socket.create_server(("127.0.0.1", first)):
        assert rows(stage("doctor"))["ports"].startswith(f"warn 1 of 30 ports in {first}-")


def test_ports_of_a_live_session_are_not_taken_by_others(stage: Stage) -> None:
    stage.script(work=[answer()])
    assert stage("work", "shop", "1").code == 0
    first, last = stage.record()["setup"]["ports"]
    low, high = stage.environ["COLONY_PORT_POOL"].split("-")
    with socket.create_server(("", first)):
        with lock_file(stage.run / "lock", "a live session"):
            # Its whole range is its own, and nothing in it is anybody else's.
            assert rows(stage("doctor"))["ports"] == f"ok room for 2 more sessions in {low}-{high}"
        # It lives no more: whoever listens there now is somebody else.
        assert rows(stage("doctor"))["ports"].startswith(f"warn 1 of 30 ports in {low}-{high}")
    assert last == first + 9


def test_sessions_left_behind(stage: Stage) -> None:
    stage.script(work=[answer()])
    assert stage("work", "shop", "1").code == 0
    broken = stage.home / "runs/s-20200101T0000-abcdef"
    broken.mkdir()
    (broken / "session.json").write_text("{")
    done = stage("doctor")
    assert done.code == 0
    assert f"session {stage.runs[-1].name} on shop#1 was left unfinished" in done.out
    assert "`colony work shop 1 --post` goes on with it" in done.out
    assert "s-20200101T0000-abcdef: session.json: " in done.out


def test_who_may_look_into_the_home(stage: Stage) -> None:
    (stage.home / ".env").write_text("")
    (stage.home / ".env").chmod(0o644)
    assert f"`chmod go= {stage.home}/.env`" in rows(stage("doctor"))["home"]
    (stage.home / ".env").chmod(0o600)
    assert rows(stage("doctor"))["home"] == f"ok {stage.home}"
    stage.home.chmod(0o777)
    assert rows(stage("doctor"))["home"].startswith("FAIL others may write in")


def test_the_sandbox_is_proved(stage: Stage, tmp_path: Path) -> None:
    stage.environ["COLONY_SANDBOX"] = "on"
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "bwrap").write_text("#!/bin/sh\necho no namespaces >&2; exit 1\n")
    (folder / "bwrap").chmod(0o755)
    found = rows(stage("doctor", PATH=f"{folder}:/usr/bin:/bin"))["sandbox"]
    assert found.startswith("FAIL no sandbox: bwrap cannot make namespaces here: no namespaces; ")
    assert "COLONY_SANDBOX=off" in found


def test_no_line_can_be_forged(stage: Stage) -> None:
    (stage.home / "projects/evil.json").write_text(json.dumps({"na\x1b[31m\nme": 1}))
    done = stage("doctor")
    assert "\x1b" not in done.out
    assert all(line.startswith("DOCTOR") for line in done.lines)


# --- a served tracker ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("creators", "members", "lacks"),
    [({"anna"}, True, False), (set(), True, True), (set(), False, False)],
)
def test_somebody_must_be_able_to_accept_on_a_server(
    stage: Stage, creators: set[str], members: bool, lacks: bool
) -> None:
    """Names of creators count only where the tracker tells no members."""
    speaks = Speaks(members=members)
    server = BareTracker(lambda: 1_800_000_000_000, speaks, creators=frozenset(creators))
    with closing(server):
        server.create("anna", {"project": "shop", "subject": "A cart"})
        token = stage.cwd / "token"
        token.write_text(server.token("colony"))
        token.chmod(0o600)
        done = stage("doctor", COLONY_TICKETS_URL=server.url, COLONY_TOKEN_FILE=str(token))
    assert rows(done)["tracker"].startswith("ok"), done
    told = rows(done).get("creators", "ok")
    assert told.startswith("FAIL nobody may accept or reject in shop: " if lacks else "ok"), told


def test_a_server_that_says_nothing_hides_no_other_line(stage: Stage) -> None:
    hurry = "from colony.flow.doctor.examining import examine; examine.__defaults__ = (0.5,)"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = stage.hurried(hurry, "doctor", COLONY_TICKETS_URL=url)
    found = rows(done)
    assert (done.code, done.err) == (1, "")
    assert found["tracker"].startswith("FAIL no answer within 0.5 s")
    assert found["runs"].startswith("ok")


def test_a_check_has_half_a_minute_at_most() -> None:
    """Longer than a call of a program may take, so that this one says what it was."""
    assert CALL_S < LIMIT_S <= 30
    assert examine.__defaults__ == (LIMIT_S,)
