"""Who may open the door to the live site, and by which line."""

from __future__ import annotations

from typing import Any

import pytest

from colony.core.deploy_mark import marked_for_deploy
from colony.core.people import NOBODY, People
from colony.core.ticket import Event, History
from tests.core.histories import make_ticket

ANNA = People(admins=frozenset({"u-anna"}), editors=frozenset({"u-ben"}))
MARK = "colony-deploy: yes"


def history(*events: Event) -> History:
    return History(make_ticket(), events)


def by(user: str, text: str, kind: Any = "comment", *, machine: bool = False) -> Event:
    author = user.removeprefix("u-")
    return Event(1, kind=kind, author=author, user_id=user, machine=machine, at_ms=1, text=text)


@pytest.mark.parametrize(
    "text", [MARK, f"Please do it.\n\n{MARK}\n", "Colony-deploy: yes".lower(), f"  {MARK}  "]
)
@pytest.mark.parametrize("kind", ["created", "comment"])
def test_a_creators_line_counts(text: str, kind: str) -> None:
    assert marked_for_deploy(history(by("u-anna", text, kind)), ANNA)


@pytest.mark.parametrize(
    "text",
    ["colony-deploy: no", f"> {MARK}", f"Say {MARK} to deploy", f"{MARK} when it is done",
     f"    {MARK}", "colony-deploy : yes", ""],
)  # fmt: skip
def test_no_other_line_does(text: str) -> None:
    assert not marked_for_deploy(history(by("u-anna", text)), ANNA)


@pytest.mark.parametrize("user", ["u-ben", "u-eve", ""])
@pytest.mark.parametrize("kind", ["created", "comment"])
def test_nobody_else_opens_it(user: str, kind: str) -> None:
    assert not marked_for_deploy(history(by(user, MARK, kind)), ANNA)


def test_no_machine_opens_it_whatever_its_name() -> None:
    assert not marked_for_deploy(history(by("u-anna", MARK, machine=True)), ANNA)


def test_an_edit_of_somebodys_text_opens_nothing() -> None:
    assert not marked_for_deploy(history(by("u-anna", MARK, "edit")), ANNA)


def test_without_people_nobody_opens_it() -> None:
    assert not marked_for_deploy(history(by("u-anna", MARK)), NOBODY)
