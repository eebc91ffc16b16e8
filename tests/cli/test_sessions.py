"""`colony sessions`.

| rule | test |
|---|---|
| a line a session, newest last, then how many | test_each_session_has_a_line |
| what cannot be read is named, never hidden | test_what_cannot_be_read_is_named |
| sessions of other hosts, as the tracker knows them | test_sessions_of_other_hosts_are_marked |
| without a tracker it still lists what lies here | test_without_a_tracker_it_lists_what_lies_here |
| one in full | test_one_in_full |
| --prune takes what is closed, nothing else | test_only_sessions_of_closed_tickets_are_removed |
| --dry-run changes nothing | test_a_dry_run_changes_nothing |
| bounds | test_the_bounds_hold |
| never a locked one, never through a link | test_a_locked_folder_stays, test_no_link_is_followed |
| what a crash left is finished | test_a_removal_that_was_cut_off_is_finished |
| unreachable tracker: nothing is removed | test_without_a_tracker_nothing_is_removed |
| wrong usage | test_wrong_usage_is_named |
| 1,000 folders | test_a_thousand_folders_are_listed_quickly |
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from colony.core.records import SessionRecord
from colony.core.ticket import Ref
from colony.host.lock import lock_file
from tests.cli.stage import OTHER, SESSION, Stage, answer, make_stage, valid


def make_worked(folder: Path) -> Stage:
    """Sessions of shop#1 (posted, then accepted), shop#2 (posted) and shop#3 (kept unposted)."""
    stage = make_stage(folder)
    stage.register("shop")
    for subject in ("A cart", "A lamp", "A \x1b[31mred chair"):
        stage.ticket(subject=subject)
    denied = [{"deny": "Bash", "detail": f"rm \x1b[31m-rf {at}"} for at in range(7)]
    stage.script(work=[*denied, {"run": "echo cart"}, answer()])
    for number, post in (("1", ["--post"]), ("2", ["--post"]), ("3", [])):
        assert stage("work", "shop", number, *post).code == 0
    stage.move(Ref("shop", 1), "done")
    return stage


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """No test changes it."""
    return make_worked(tmp_path_factory.mktemp("sessions"))


@pytest.fixture
def stage(worked: Stage, tmp_path: Path) -> Iterator[Stage]:
    """A copy, to be changed."""
    home = tmp_path / "home"
    shutil.copytree(worked.home, home, symlinks=True)
    environ = worked.environ | {"COLONY_HOME": str(home)}
    yield replace(worked, home=home, environ=environ)


def by_ticket(stage: Stage) -> dict[str, str]:
    """Ticket -> its session."""
    found = {}
    for run in stage.runs:
        ticket = stage.record(run)["ticket"]
        found[f"{ticket['project']}#{ticket['number']}"] = run.name
    return found


def everything(folder: Path) -> list[tuple[str, int]]:
    return sorted(
        (str(path.relative_to(folder)), path.lstat().st_mtime_ns) for path in folder.rglob("*")
    )


def test_each_session_has_a_line(worked: Stage) -> None:
    done = worked("sessions")
    assert (done.code, done.err) == (0, "")
    names = by_ticket(worked)
    *rows, count = done.lines
    assert sorted(line.split()[1] for line in rows) == sorted(names.values())
    stands = {line.split()[2]: line for line in rows}
    assert " posted " in stands["shop#1"]
    assert " not posted " in stands["shop#3"]
    assert all("$0." in line for line in rows)
    assert count == "SESSIONS: 3 in all, 0 running, 1 unfinished or not posted"
    last = worked("sessions", "--last", "1").lines
    assert last[0].split()[:3] == rows[-1].split()[:3]
    assert last[1].endswith("the newest 1 shown")
    objects = valid(worked("sessions", "--json"))
    assert [each["session"] for each in objects[:-1]] == [line.split()[1] for line in rows]
    [kept] = [each for each in objects if each.get("ticket") == "shop#3"]
    assert (kept["phase"], kept["outcome"], kept["running"]) == ("judged", None, False)
    assert kept["remedy"] == f"post it: colony check runs/{names['shop#3']} --post"


@pytest.mark.parametrize("words", [["sessions"], ["sessions", "--json"]])
def test_it_ends_when_nobody_reads_any_more(worked: Stage, words: list[str]) -> None:
    assert worked.unread(*words) == (0, "")


def test_the_newest_session_is_the_last_one(stage: Stage) -> None:
    newest = max(stage.runs, key=lambda run: stage.record(run)["startedMs"])
    record = stage.record(newest)
    old = stage.home / "runs" / SESSION
    shutil.copytree(newest, old)
    (old / "session.json").write_text(json.dumps(record | {"session": SESSION, "startedMs": 1}))
    names = [line.split()[1] for line in stage("sessions").lines[:-1]]
    assert (names[0], names[-1]) == (SESSION, newest.name)


def test_what_cannot_be_read_is_named(stage: Stage, tmp_path: Path) -> None:
    runs = stage.home / "runs"
    names = [f"s-20260131T1819-00000{at}" for at in range(7)]
    garbage, link, foreign, empty, newer, linked, deep = names
    for name in (garbage, foreign, empty, newer, linked, deep):
        (runs / name).mkdir()
    (runs / garbage / "session.json").write_text("{\x00")
    (runs / deep / "session.json").write_text("[" * 100_000)
    (runs / link).symlink_to(stage.runs[-1])
    record = stage.record(stage.runs[-1])
    (runs / foreign / "session.json").write_text(json.dumps(record))
    (runs / newer / "session.json").write_text(json.dumps(record | {"version": 2}))
    (runs / linked / "session.json").symlink_to(stage.runs[-1] / "session.json")
    done = stage("sessions")
    assert done.code == 0
    told = {line.split()[1]: line for line in done.lines if "UNREADABLE" in line}
    assert sorted(told) == names
    assert "is a symbolic link, no run folder" in told[link]
    assert f"it holds session {record['session']}" in told[foreign]
    assert "nothing is written down in it yet" in told[empty]
    assert "version 2" in told[newer]
    assert done.lines[-1].endswith("7 unreadable")
    assert len(valid(stage("sessions", "--json"))) == 3 + 7 + 1
    one = stage("sessions", garbage)
    assert (one.code, garbage in one.error) == (3, True)
    assert stage("sessions", link).code == 3
    pruned = stage("sessions", "--prune", "--keep", "0")
    assert pruned.code == 0
    assert all((runs / name).is_symlink() or (runs / name).is_dir() for name in names)
    assert f"SESSION {garbage} kept: it cannot be read: " in pruned.out


def test_sessions_of_other_hosts_are_marked(stage: Stage) -> None:
    stage.now_ms = round(time.time() * 1000)
    elsewhere = SessionRecord(
        OTHER, Ref("shop", 2), "elm\x1b[31m", "working", step="npm \x1b[31mtest",
        started_ms=stage.now_ms, cost_usd=1.5,
    )  # fmt: skip
    here = replace(elsewhere, id=SESSION, host="here")
    known = replace(elsewhere, id=by_ticket(stage)["shop#1"])
    with stage.tracker("colony", machine=True) as tracker:
        for record in (elsewhere, here, known):
            tracker.put_session(record)
    done = stage("sessions")
    [line] = [each for each in done.lines if OTHER in each]
    assert line.split()[2:4] == ["shop#2", "running"]
    assert line.endswith("elm\\x1b[31m")
    assert SESSION not in done.out
    assert done.lines[-1] == (
        "SESSIONS: 4 in all, 1 running, 1 unfinished or not posted, 1 on other hosts"
    )
    full = stage("sessions", OTHER)
    assert (full.code, "its files are on elm" in full.out) == (0, True)
    assert "\x1b" not in full.out + done.out
    assert [each for each in valid(stage("sessions", "--json")) if each.get("here") is False]


def test_without_a_tracker_it_lists_what_lies_here(stage: Stage) -> None:
    stage.database.unlink()
    done = stage("sessions")
    assert (done.code, len(done.lines)) == (0, 4)
    assert done.error.startswith("WARNING — sessions of other hosts are not listed: ")


def test_one_in_full(worked: Stage) -> None:
    session = by_ticket(worked)["shop#3"]
    for named in (session, f"runs/{session}", f"{worked.home}/runs/{session}/"):
        done = worked("sessions", named)
        assert (done.code, done.err) == (0, "")
        head, *rest, last = done.lines
        assert head.startswith(f"SESSION {session} shop#3 judged: not posted · began 20")
        told = "\n".join(rest)
        assert "  part 1 work by stand-in (sonnet): report · " in told
        assert "  part 2 check by stand-in " in told
        for part in (
            "  lease: event ",
            "  report: complete",
            "  verdict: pass",
            "  file: brief.md",
        ):
            assert part in told
        assert "  file: parts/1-work/stream.jsonl (" in told
        assert told.count("    denied: Bash: rm \\x1b[31m-rf ") == 5
        assert "    denied: and 2 more" in told
        assert last == (
            f"  its result is kept and not posted — post it: colony check runs/{session} --post"
        )
    objects = valid(worked("sessions", session, "--json"))
    assert [each["partKind"] for each in objects if each["kind"] == "session.part"] == [
        "work",
        "check",
    ]
    assert {each["session"] for each in objects} == {session}
    posted = worked("sessions", by_ticket(worked)["shop#1"])
    assert "  outbox: move to review — done" in posted.lines


def test_a_session_that_nobody_knows(worked: Stage) -> None:
    assert (worked("sessions", SESSION).code, worked("sessions", "shop").code) == (3, 2)


def test_only_sessions_of_closed_tickets_are_removed(stage: Stage) -> None:
    names = by_ticket(stage)
    assert (stage.home / "runs/.ended" / names["shop#1"]).exists()
    done = stage("sessions", "--prune", "--keep", "0")
    assert (done.code, done.err) == (0, "")
    assert by_ticket(stage) == {each: names[each] for each in ("shop#2", "shop#3")}
    lines = {line.split()[1]: line for line in done.lines[:-1]}
    assert f"{names['shop#1']} removed (" in lines[names["shop#1"]]
    assert "shop#1 is done, it ended " in lines[names["shop#1"]]
    assert lines[names["shop#2"]].endswith("kept: its ticket shop#2 is not done: review")
    assert lines[names["shop#3"]].endswith("kept: its result is not posted (judged)")
    assert done.lines[-1].startswith("SESSIONS: 1 removed, 2 kept; ")
    assert done.lines[-1].endswith(" freed")
    left = sorted(path.name for path in (stage.home / "runs").iterdir())
    assert left == sorted([".ended", names["shop#2"], names["shop#3"]])
    assert not (stage.home / "runs/.ended" / names["shop#1"]).exists()
    again = valid(stage("sessions", "--prune", "--keep", "0", "--json"))
    assert (again[-1]["removed"], again[-1]["kept"], again[-1]["freedBytes"]) == (0, 2, 0)


def test_a_dry_run_changes_nothing(stage: Stage) -> None:
    before = everything(stage.home)
    done = stage("sessions", "--prune", "--keep", "0", "--dry-run")
    assert everything(stage.home) == before
    assert done.lines[-1].startswith("SESSIONS: 1 would be removed, 2 kept; ")
    real = stage("sessions", "--prune", "--keep", "0")
    assert ageless(done.lines[:-1]) == ageless(real.lines[:-1])


def ageless(lines: list[str]) -> list[str]:
    """What was done, without when."""
    text = "\n".join(lines).replace("would be removed", "removed")
    return re.sub(r"ended [0-9]+ (s|min) ago", "ended", text).splitlines()


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        (["--keep", "3"], "it is one of the newest 3"),
        (["--older-than", "1"], "it ended 0 s ago"),
        (["--older-than", "12h", "--keep", "0"], "it ended 0 s ago"),
    ],
)
def test_the_bounds_hold(stage: Stage, bounds: list[str], why: str) -> None:
    session = by_ticket(stage)["shop#1"]
    record = stage.record(stage.home / "runs" / session)
    record["endedMs"] = int(time.time() * 1000) + 10_000_000
    (stage.home / "runs" / session / "session.json").write_text(json.dumps(record))
    done = stage("sessions", "--prune", *bounds)
    assert f"SESSION {session} kept: {why}" in done.lines
    assert session in by_ticket(stage).values()


def test_a_locked_folder_stays(stage: Stage) -> None:
    session = by_ticket(stage)["shop#1"]
    folder = stage.home / "runs" / session
    with lock_file(folder / "lock", "it"):
        done = stage("sessions", "--prune", "--keep", "0")
    assert f"SESSION {session} kept: somebody works on it: " in done.out
    assert done.code == 0
    assert folder.is_dir()
    with lock_file(stage.home / "home.lock", "it"):
        hurry = "from colony.flow import runs; runs.HOME_LOCK_WAIT_S = 0.2"
        busy = stage.hurried(hurry, "sessions", "--prune", "--keep", "0")
    assert (busy.code, folder.is_dir()) == (5, True)


def test_no_link_is_followed(stage: Stage, tmp_path: Path) -> None:
    session = by_ticket(stage)["shop#1"]
    folder = stage.home / "runs" / session
    canary = tmp_path / "canary"
    canary.mkdir()
    (canary / "file").write_text("kept")
    (folder / "lock").unlink()
    (folder / "lock").symlink_to(canary / "file")
    assert "its lock is no file" in stage("sessions", "--prune", "--keep", "0").out
    assert (canary / "file").read_text() == "kept"
    (folder / "lock").unlink()
    shutil.rmtree(folder / "agent")
    (folder / "agent").symlink_to(canary)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er").chmod(0)
    os.mkfifo(folder / "fifo")
    done = stage("sessions", "--prune", "--keep", "0")
    assert (done.code, folder.exists()) == (0, False)
    assert (canary / "file").read_text() == "kept"


def test_a_removal_that_was_cut_off_is_finished(stage: Stage) -> None:
    runs, session = stage.home / "runs", by_ticket(stage)["shop#1"]
    (runs / session).rename(runs / f".removed-{session}")
    assert session not in stage("sessions").out
    dry = stage("sessions", "--prune", "--keep", "9", "--dry-run")
    assert f"SESSION {session} would be removed" in dry.out
    assert (runs / f".removed-{session}").is_dir()
    done = stage("sessions", "--prune", "--keep", "9")
    assert f"SESSION {session} removed (" in done.out
    assert "an earlier removal was cut off" in done.out
    assert not (runs / f".removed-{session}").exists()
    assert done.lines[-1].startswith("SESSIONS: 1 removed, 2 kept")


def test_a_ticket_that_is_gone_keeps_its_session(stage: Stage) -> None:
    session = by_ticket(stage)["shop#1"]
    record = stage.record(stage.home / "runs" / session)
    record["ticket"]["number"] = 99
    (stage.home / "runs" / session / "session.json").write_text(json.dumps(record))
    done = stage("sessions", "--prune", "--keep", "0")
    assert f"SESSION {session} kept: its ticket shop#99 is not in the tracker" in done.out


def test_without_a_tracker_nothing_is_removed(stage: Stage) -> None:
    stage.database.unlink()
    done = stage("sessions", "--prune", "--keep", "0")
    assert (done.code, done.out, len(stage.runs)) == (4, "", 3)
    stage.database.write_bytes(b"no database" * 1000)
    assert (stage("sessions", "--prune", "--keep", "0").code, len(stage.runs)) == (3, 3)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--prune"], "--prune needs"),
        (["--keep", "3"], "go with --prune"),
        (["--dry-run"], "go with --prune"),
        (["--prune", "--keep", "-1"], "--keep -1"),
        (["--prune", "--keep", "\u0663"], "--keep \u0663"),
        (["--prune", "--keep", "1", SESSION], "neither a session"),
        (["--prune", "--older-than", "soon"], "--older-than soon"),
        (["--last", "many"], "--last many"),
        (["--last", "3", SESSION], "--last goes with"),
        (["../../etc"], "no session is named so"),
    ],
)
def test_wrong_usage_is_named(worked: Stage, words: list[str], named: str) -> None:
    done = worked("sessions", *words)
    assert (done.code, done.out, named in done.error) == (2, "", True)
    assert len(worked.runs) == 3


def test_an_empty_home_has_none(tmp_path: Path) -> None:
    stage = make_stage(tmp_path)
    stage.register("shop")
    stage.ticket()
    assert stage("sessions").lines == ["SESSIONS: 0 in all, 0 running"]
    assert stage("sessions", "--prune", "--keep", "0").lines == ["SESSIONS: 0 removed, 0 kept"]


def test_a_thousand_folders_are_listed_quickly(stage: Stage) -> None:
    record = stage.record(stage.runs[0])
    text = json.dumps(record)

    def took() -> float:
        begun = time.perf_counter()
        assert stage("sessions", "--json").code == 0
        return time.perf_counter() - begun

    few = min(took() for _ in range(3))
    for at in range(1000):
        name = f"s-20260131T{at // 60:04d}-{at:06x}"
        folder = stage.home / "runs" / name
        folder.mkdir()
        (folder / "session.json").write_text(text.replace(record["session"], name))
    many = min(took() for _ in range(3))
    # About a second on an ordinary machine, of which the start of the program is a quarter.
    assert many < 12 * few, (few, many)


@pytest.mark.parametrize("words", [["sessions", "--json"], ["sessions"], ["tail"]])
def test_looking_loads_nothing_heavy(worked: Stage, words: list[str]) -> None:
    if words == ["tail"]:
        words = ["tail", worked.runs[0].name]
    script = (
        "import sys; from colony.cli.app import main; code = main(sys.argv[1:]);"
        "print('\\n'.join(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=worked.cwd, env=worked.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    heavy = {"rich", "httpx", "jsonschema", "jinja2", "fastapi", "psutil", "pydantic"}
    assert not set(done.stderr.split()) & heavy
