"""`colony tracker token/tokens/revoke/project/projects/member`, as a person meets them."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from colony.tracker.places import engine_at
from colony.tracker.tokens import Tokens
from tests.cli.conftest import Colony
from tests.cli.stage import LINES

SECRET = re.compile(r"tkt_[A-Za-z0-9_-]{43}")


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def secret_of(line: str) -> str:
    [secret] = SECRET.findall(line)
    return str(secret)


def holder(colony: Colony, secret: str) -> object:
    engine = engine_at(f"sqlite:///{colony.home}/colony.db", create=False, timeout_s=5)
    try:
        return Tokens(engine, lambda: 1_700_000_000_000).holder(secret)
    finally:
        engine.close()


def held(colony: Colony) -> list[str]:
    with closing(sqlite3.connect(colony.home / "colony.db")) as opened:
        return list(opened.iterdump())


def test_the_first_token_makes_the_tracker_and_is_shown_once(colony: Colony) -> None:
    done = colony("tracker", "token", "bob", "--expires", "2099-01-31")
    assert done.code == 0
    made, shown = done.lines
    assert made == f"INIT tracker made: {colony.home}/colony.db"
    secret = secret_of(shown)
    assert shown == f"TOKEN t1 for bob (person), until 2099-01-31 23:59 UTC: {secret}"
    who = holder(colony, secret)
    assert (who.user, who.machine, who.owner) == ("bob", False, False)  # type: ignore[attr-defined]
    assert secret not in "".join(held(colony))
    listed = colony("tracker", "tokens")
    assert listed.lines[0].split()[:4] == ["TOKEN", "t1", "bob", "person"]
    assert listed.lines[-1] == "TOKENS: 1 good"
    assert "tkt_" not in listed.out
    # Whoever makes the tracker owns it: a machine could make no project otherwise.
    assert "admin anna" in colony("tracker", "project", "shop").out


def test_owner_and_machine_are_what_they_say(colony: Colony) -> None:
    owner = colony("tracker", "token", "eve", "--owner").lines[-1]
    assert owner.startswith("TOKEN t1 for eve (person, owner): tkt_")
    machine = colony("tracker", "token", "colony", "--machine").lines[-1]
    assert machine.startswith("TOKEN t2 for colony (machine): tkt_")
    assert holder(colony, secret_of(machine)).machine  # type: ignore[attr-defined]
    colony("tracker", "project", "shop")
    assert "eve" in colony("tracker", "projects").out
    # A person that is there becomes an owner, in every project.
    colony("tracker", "member", "shop", "bob", "use")
    assert "(person, owner)" in colony("tracker", "token", "bob", "--owner").out
    assert "admin anna, bob, eve" in colony("tracker", "projects").out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["x", "--owner", "--machine"], 2, "give one of them"),
        (["x", "--expires", "soon"], 2, "--expires soon"),
        (["x", "--expires", "2020-01-01"], 2, "in the past"),
        (["colony"], 2, "Colony's own name"),
        (["anna", "--machine"], 2, "your own name"),
        (["bob", "--machine"], 3, "bob is a person"),
        (["ci"], 3, "ci is a machine"),
        (["ci", "--owner"], 3, "ci is a machine"),
        ([" "], 3, "user"),
        (["a\x1b[2J"], 3, "cannot be printed"),
        (["x" * 101], 3, "at most 100"),
        (["x", "--to", "no/such/folder/token"], 2, "no such folder"),
        (["x", "--to", "taken"], 3, "exists"),
    ],
)
def test_bad_tokens_are_one_line_and_write_nothing(
    colony: Colony, words: list[str], code: int, told: str
) -> None:
    colony("tracker", "token", "bob")
    colony("tracker", "token", "ci", "--machine")
    (colony.cwd / "taken").write_text("mine")
    before = held(colony), names(colony.cwd)
    done = colony("tracker", "token", *words)
    assert (done.code, told in done.error) == (code, True), done.error
    assert "tkt_" not in done.err + done.out
    assert (held(colony), names(colony.cwd)) == before
    assert (colony.cwd / "taken").read_text() == "mine"


def test_a_refused_token_leaves_no_file(colony: Colony) -> None:
    colony("tracker", "token", "bob")
    assert colony("tracker", "token", "bob", "--machine", "--to", "secret").code == 3
    assert names(colony.cwd) == []


def test_a_secret_can_go_straight_into_a_file(colony: Colony) -> None:
    done = colony("tracker", "token", "bob", "--to", "secret")
    file = colony.cwd / "secret"
    assert done.lines[-1] == f"TOKEN t1 for bob (person): written to {file}"
    assert "tkt_" not in done.out
    assert file.stat().st_mode & 0o777 == 0o600
    assert holder(colony, file.read_text().rstrip("\n")) is not None


def test_json_has_the_secret_as_a_fact(colony: Colony) -> None:
    _, row = colony("tracker", "token", "bob", "--json").objects
    LINES.validate(row)
    assert holder(colony, row["token"]) is not None
    assert (row["kind"], row["id"], row["user"], row["expiresMs"]) == ("token", "t1", "bob", None)
    listed, count = colony("tracker", "tokens", "--json").objects
    assert "token" not in listed
    assert (listed["state"], count["good"]) == ("good", 1)


def test_revoked_is_worthless_and_said(colony: Colony) -> None:
    secret = secret_of(colony("tracker", "token", "bob").out)
    assert colony("tracker", "revoke", "t1").lines == ["TOKEN t1 of bob is revoked"]
    assert holder(colony, secret) is None
    again = colony("tracker", "revoke", "t1")
    assert (again.code, "still good" in again.error) == (3, True)
    assert colony("tracker", "tokens").lines[-1] == "TOKENS: 0 good, 1 expired or revoked"


@pytest.mark.parametrize(
    "words", [["tokens"], ["revoke", "t1"], ["member", "shop", "bob", "edit"], ["projects"]]
)
def test_these_make_no_tracker(colony: Colony, words: list[str]) -> None:
    done = colony("tracker", *words)
    assert (done.code, "no tracker" in done.error) == (4, True)
    assert not colony.home.exists()


@pytest.mark.parametrize("words", [["token", "bob"], ["tokens"], ["revoke", "t1"]])
def test_tokens_are_made_where_the_database_lies(colony: Colony, words: list[str]) -> None:
    done = colony("tracker", *words, COLONY_TICKETS_URL="https://colony.example/")
    assert (done.code, "names a server" in done.error) == (3, True)


def test_members_come_and_go(colony: Colony) -> None:
    made = colony("tracker", "project", "shop")
    assert made.lines[-1] == "PROJECT shop made — admin anna"
    assert colony("tracker", "project", "shop").lines == [
        "PROJECT shop is there already — admin anna"
    ]
    assert colony("tracker", "member", "shop", "bob", "edit").lines == [
        "MEMBER bob has the role edit in shop (had none in this tracker)"
    ]
    assert "admin anna; edit bob" in colony("tracker", "projects").out
    assert colony("tracker", "member", "shop", "bob", "use").lines == [
        "MEMBER bob has the role use in shop"
    ]
    assert colony("tracker", "member", "shop", "bob", "--remove").lines == [
        "MEMBER bob has no role in shop"
    ]
    # Known without a role: nobody says that the name is new.
    colony("tracker", "token", "carl")
    known = colony("tracker", "member", "shop", "carl", "use")
    assert known.lines == ["MEMBER carl has the role use in shop (had none in this tracker)"]
    assert colony("tracker", "member", "shop", "carl", "--remove").code == 0
    owner = colony("tracker", "member", "shop", "anna", "use")
    assert (owner.code, owner.out) == (3, "")
    assert "owns the tracker and is admin in every project" in owner.err
    [row] = colony("tracker", "projects", "--json").objects
    assert row["members"] == [{"user": "anna", "role": "admin"}]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["shop", "bob"], 2, "give a role"),
        (["shop", "bob", "edit", "--remove"], 2, "give a role"),
        (["shop", "bob", "edti"], 2, "did you mean edit?"),
        (["nowhere", "bob", "edit"], 3, "no project"),
        (["shop", "nobody", "--remove"], 3, "no such user"),
        (["shop", "", "edit"], 3, "user"),
        (["shop", "..", "edit"], 3, "user: dots alone are no name"),
    ],
)
def test_bad_members_are_one_line(colony: Colony, words: list[str], code: int, told: str) -> None:
    colony("tracker", "project", "shop")
    before = held(colony)
    done = colony("tracker", "member", *words)
    assert (done.code, told in done.error) == (code, True), done.error
    assert [row for row in held(colony) if "answers" not in row] == [
        row for row in before if "answers" not in row
    ]


def test_a_project_needs_a_name(colony: Colony) -> None:
    done = colony("tracker", "project", "Not valid")
    assert (done.code, "small letters" in done.err) == (3, True)
