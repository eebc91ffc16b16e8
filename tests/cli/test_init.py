"""`colony init`: a project is registered, and nothing is overwritten."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Colony


def test_a_folder_becomes_a_project(colony: Colony) -> None:
    folder = colony.cwd / "My Shop_2"
    folder.mkdir()
    done = colony("init", "My Shop_2")
    assert done.code == 0
    registered = colony.home / "projects/my-shop-2.json"
    assert done.lines == [
        f"INIT made: {registered}",
        f"INIT made: {folder}/CONCEPT.md",
        f"INIT tracker made: {colony.home}/colony.db",
        f"  next: fill in {folder}/CONCEPT.md",
        '  then: colony ticket new --project my-shop-2 "…"',
        "INIT my-shop-2 is registered",
    ]
    assert json.loads(registered.read_text())["dev"] == {"folder": str(folder)}
    assert colony("ticket", "list", "--project", "my-shop-2").code == 0
    assert colony("ticket", "new", "First").lines == ["TICKET my-shop-2#1 open — First"]


def test_again_it_keeps_what_is_there(colony: Colony) -> None:
    folder = colony.cwd / "shop"
    folder.mkdir()
    (folder / "CONCEPT.md").write_text("mine")
    assert colony("init", "shop").code == 0
    registered = colony.home / "projects/shop.json"
    entry = json.loads(registered.read_text()) | {"model": "haiku"}
    registered.write_text(json.dumps(entry))
    done = colony("init", "shop")
    assert done.code == 0
    assert done.lines[0] == f"INIT kept as it is: {registered}"
    assert json.loads(registered.read_text())["model"] == "haiku"
    assert (folder / "CONCEPT.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "there is no such folder"),
        (["file"], "there is no such folder"),
        (["___"], "give --name"),
        ([".", "--name", "Shop"], "--name Shop: must be small letters"),
        ([".", "--name", "../x"], "--name ../x: must be small letters"),
    ],
)
def test_what_cannot_be_registered(colony: Colony, words: list[str], told: str) -> None:
    (colony.cwd / "___").mkdir()
    (colony.cwd / "file").write_text("")
    done = colony("init", *words)
    assert done.code == 2
    assert told in done.error
    assert not colony.home.exists()


def test_one_folder_is_one_project(colony: Colony) -> None:
    (colony.cwd / "shop").mkdir()
    colony("init", "shop")
    done = colony("init", "shop", "--name", "other")
    assert done.code == 3
    assert "is registered as shop already" in done.error
    assert not (colony.home / "projects/other.json").exists()


def test_a_folder_that_cannot_be_written(colony: Colony) -> None:
    (colony.cwd / "shop").mkdir()
    colony.home.mkdir()
    (colony.home / "projects").write_text("in the way")
    done = colony("init", "shop")
    assert (done.code, done.error) == (2, f"ERROR {colony.home}/projects: Not a directory")


def test_nothing_is_made_for_somebody_named_like_colony(colony: Colony) -> None:
    folder = colony.cwd / "shop"
    folder.mkdir()
    done = colony("init", "shop", COLONY_PERSON="colony")
    assert done.code == 2
    assert "COLONY_PERSON" in done.error
    assert "COLONY_USER" in done.error
    assert not colony.home.exists()
    assert list(folder.iterdir()) == []
