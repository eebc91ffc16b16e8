"""`colony init`: a project is registered, and nothing is overwritten."""

from __future__ import annotations

import json
import os

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


@pytest.mark.parametrize("name", ["e\x1b[31msc", "new\nline"])
def test_a_path_that_cannot_be_shown_is_refused_before_anything(colony: Colony, name: str) -> None:
    (colony.cwd / name).mkdir()
    done = colony("init", name, "--name", "shop")
    assert done.code == 2
    assert "control characters" in done.error
    assert "\x1b" not in done.error and len(done.error.splitlines()) == 1
    assert not colony.home.exists()
    assert list((colony.cwd / name).iterdir()) == []


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_a_concept_that_is_no_file_is_said(colony: Colony, kind: str) -> None:
    concept = colony.cwd / "shop" / "CONCEPT.md"
    concept.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(concept)
    elif kind == "link":
        concept.symlink_to(colony.cwd / "outside")
    else:
        concept.mkdir()
    done = colony("init", "shop")
    assert done.code == 2
    assert "CONCEPT.md: is there and is no file" in done.error
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


def test_what_a_repository_shows_is_written_down_to_be_checked(colony: Colony) -> None:
    folder = colony.cwd / "checkout-3"
    folder.mkdir()
    (folder / "README.md").write_text("# Tea\n\nSells tea.\n")
    (folder / "package.json").write_text('{"name": "@acme/tea", "scripts": {"test": "jest"}}')
    (folder / "index.html").write_text("<!doctype html>")
    assert colony("init", "checkout-3").lines[-1] == "INIT tea is registered"
    entry = json.loads((colony.home / "projects/tea.json").read_text())
    assert entry == {
        "name": "tea",
        "dev": {"folder": str(folder)},
        "concept": "CONCEPT.md",
        "ui": True,
    }
    concept = (folder / "CONCEPT.md").read_text()
    assert "<!-- guessed from README.md: check it -->\nSells tea.\n" in concept
    assert "- test: `npm test` <!-- guessed from package.json: check it -->" in concept


def test_hostile_files_are_passed_over(colony: Colony) -> None:
    folder = colony.cwd / "shop"
    folder.mkdir()
    outside = colony.cwd / "outside.md"
    outside.write_text("A secret of somebody else.\n")
    (folder / "README.md").symlink_to(outside)
    os.mkfifo(folder / "Makefile")
    (folder / "package.json").write_text("[" * 200_000)
    (folder / "pyproject.toml").write_text("[project]\nname = 'big'\n" + "#" * 300_000)
    (folder / "go.mod").write_bytes(b"module \xff\n")
    (folder / "Cargo.toml").mkdir()
    assert colony("init", "shop").lines[-1] == "INIT shop is registered"
    concept = (folder / "CONCEPT.md").read_text()
    assert "secret" not in concept
    assert "guessed" not in concept


def test_two_folders_are_not_one_project(colony: Colony) -> None:
    for name in ("one", "two"):
        (colony.cwd / name).mkdir()
        (colony.cwd / name / "package.json").write_text('{"name": "app"}')
    assert colony("init", "one").code == 0
    done = colony("init", "two")
    assert done.code == 3
    assert done.error == f"ERROR app is registered already, for {colony.cwd}/one: give --name"
    assert not (colony.cwd / "two/CONCEPT.md").exists()
    assert colony("init", "two", "--name", "other").code == 0
