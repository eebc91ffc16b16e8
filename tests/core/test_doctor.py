"""What `doctor` makes of what it saw."""

from __future__ import annotations

import pytest

from colony.core.doctor import Diagnosis, fail, ok, row, summary, warn
from colony.core.doctor.machine import (
    HomeSeen,
    Left,
    judge_disk,
    judge_home,
    judge_ports,
    judge_python,
    judge_runs,
)
from colony.core.doctor.tracker import (
    judge_clock,
    judge_content,
    judge_creators,
    judge_names,
    judge_own_token,
    judge_person_token,
)
from colony.core.ticket import Me, Member, ProjectInfo, Ref

ANNA = Member("anna", "u1", "admin")


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (ok("git", "2.39"), "DOCTOR ok   git — 2.39"),
        (warn("disk", "1 GB free", "make room"), "DOCTOR warn disk — 1 GB free: make room"),
        (fail("home", "is a file", "move it"), "DOCTOR FAIL home — is a file: move it"),
    ],
)
def test_a_row(finding: Diagnosis, text: str) -> None:
    line = row(finding)
    assert line.as_text() == text
    assert dict(line.facts) == {
        "check": finding.check, "state": finding.state, "todo": finding.todo
    }  # fmt: skip


@pytest.mark.parametrize(
    ("findings", "text"),
    [
        ([ok("a", "x")], "DOCTOR: all in order"),
        ([ok("a", "x"), warn("b", "x")], "DOCTOR: all in order (1 warning)"),
        ([warn("a", "x"), warn("b", "x")], "DOCTOR: all in order (2 warnings)"),
        ([fail("a", "x"), fail("a", "y")], "DOCTOR: 1 thing to mend first: a"),
        ([fail("b", "x"), warn("c", "x"), fail("a", "y")], "DOCTOR: 2 things to mend first: b, a"),
    ],
)
def test_the_last_line(findings: list[Diagnosis], text: str) -> None:
    assert summary(findings).as_text() == text


@pytest.mark.parametrize(
    ("version", "state"), [((3, 10, 9), "fail"), ((3, 11, 0), "ok"), ((4, 0, 0), "ok")]
)
def test_python(version: tuple[int, int, int], state: str) -> None:
    assert judge_python(version).state == state


@pytest.mark.parametrize(
    ("seen", "state", "told"),
    [
        (HomeSeen("/h", "", True, 0o755), "ok", "`colony init` makes it"),
        (HomeSeen("/h", "", False, 0o755), "fail", "/h cannot be written"),
        (HomeSeen("/h", "folder", False, 0o700), "fail", "/h cannot be written"),
        (HomeSeen("/h", "a file", True, 0o600), "fail", "/h is a file, not a folder"),
        (HomeSeen("/h", "folder", True, 0o755), "ok", "/h"),
        (HomeSeen("/h", "folder", True, 0o775), "fail", "others may write in /h"),
        (HomeSeen("/h", "folder", True, 0o700, ("/h/.env",)), "warn", "`chmod go= /h/.env`"),
    ],
)
def test_the_home(seen: HomeSeen, state: str, told: str) -> None:
    found = judge_home(seen)
    assert (found.state, told in found.fact) == (state, True)


@pytest.mark.parametrize(
    ("free", "state"),
    [(199_999_999, "fail"), (200_000_000, "warn"), (2_047_999_999, "warn"), (2_048_000_000, "ok")],
)
def test_the_disk(free: int, state: str) -> None:
    assert judge_disk(free).state == state


@pytest.mark.parametrize(
    ("busy", "ours", "state", "told"),
    [
        ((), (), "ok", "room for 3 more sessions in 8700-8729"),
        ((8700, 8701), ((8700, 8709),), "ok", "room for 2 more sessions"),
        ((8715,), (), "warn", "1 of 30 ports in 8700-8729 taken by others (8715); room for 2 more"),
        ((8705, 8715, 8725), (), "fail", "no range of 10 is left"),
        ((), ((8700, 8709), (8710, 8719), (8720, 8729)), "ok", "room for 0 more sessions"),
        (tuple(range(8700, 8709)), (), "warn", "8704 and 4 more"),
    ],
)
def test_ports(
    busy: tuple[int, ...], ours: tuple[tuple[int, int], ...], state: str, told: str
) -> None:
    found = judge_ports((8700, 8729), 10, busy, ours)
    assert found.state == state
    assert told in found.fact


def test_runs() -> None:
    assert [each.state for each in judge_runs([], [])] == ["ok"]
    bad, left = judge_runs(["s-1: broken"], [Left("s-2", Ref("shop", 3), "check")])
    assert (bad.state, bad.fact) == ("warn", "s-1: broken")
    assert "s-2 on shop#3" in left.fact
    assert "`colony work shop 3 --post`" in left.todo


def test_what_a_tracker_holds() -> None:
    held = {"shop": {"open": 1, "done": 2}, "bar": {}}
    found = judge_content("/h/colony.db", held)  # type: ignore[arg-type]
    assert found.fact == "/h/colony.db: 2 projects, 3 tickets"


def test_who_is_who() -> None:
    shop = ProjectInfo("shop", (ANNA,))
    assert [each.state for each in judge_names("anna", "colony", [shop])] == ["ok"]
    assert [each.state for each in judge_names("anna", "colony", [])] == ["ok"]
    [same] = judge_names("colony", "colony", [shop])
    assert (same.state, "COLONY_PERSON" in same.todo) == ("fail", True)
    [person] = judge_names("bo", "anna", [shop])
    assert (person.state, person.fact) == ("fail", "anna is a person there")


def test_somebody_must_be_able_to_accept() -> None:
    edits = ProjectInfo("shop", (Member("bo", "u2", "edit"),))
    assert judge_creators([ProjectInfo("shop", (ANNA,))], ()) == ()
    [found] = judge_creators([edits], ())
    assert (found.state, "made by a machine needs one" in found.todo) == ("fail", True)
    assert "`colony tracker member shop YOU admin`" in found.todo
    assert judge_creators([ProjectInfo("shop", ())], ("creator",)) == ()


def test_tokens() -> None:
    machine, person = Me("colony", "u1", True, False), Me("anna", "u2", False, True)
    assert judge_own_token(machine, "colony").state == "ok"
    wrong = judge_own_token(person, "bot")
    assert (wrong.state, "`colony tracker token bot --machine" in wrong.todo) == ("fail", True)
    assert judge_person_token(person).fact == "anna, an owner"
    assert judge_person_token(machine).state == "fail"


@pytest.mark.parametrize(
    ("apart", "state"), [(5_000, "ok"), (5_001, "warn"), (300_000, "warn"), (300_001, "fail")]
)
def test_the_clock(apart: int, state: str) -> None:
    assert judge_clock(10**12 + apart, 10**12).state == state
    assert judge_clock(10**12 - apart, 10**12).state == state
