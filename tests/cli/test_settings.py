"""Settings and registry files as a command meets them: each refusal is one line with a place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from colony.core.project import Project
from colony.errors import UsageProblem
from colony.host.registry import folders_of, read_registry
from tests.cli.conftest import Colony


def test_an_unknown_variable_is_warned_about(colony: Colony) -> None:
    colony.register("shop")
    done = colony("ticket", "new", "x", COLONY_PERSN="bo")
    assert done.code == 0
    assert done.error == "WARNING COLONY_PERSN is no setting (did you mean COLONY_PERSON?)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\nCOLONY_PERSN=bo\n", ".env:2: COLONY_PERSN is no setting (did you mean COLONY_PERSON?)"),
        ("nonsense", ".env:1: not of the form NAME=value"),
        ("COLONY_LEASE_TTL=0", ".env:1: COLONY_LEASE_TTL 0: must be 10 or more"),
        ("COLONY_TZ=", ".env:1: COLONY_TZ: must be a time zone such as UTC or Europe/Vienna"),
    ],
)
def test_a_bad_env_file_stops_every_command(colony: Colony, text: str, told: str) -> None:
    colony.register("shop")
    (colony.home / ".env").write_text(text)
    done = colony("ticket", "new", "x")
    assert done.code == 2
    assert done.error == f"ERROR {colony.home}/{told}"
    assert not (colony.home / "colony.db").exists()


def test_an_env_file_that_is_no_text_is_refused(colony: Colony) -> None:
    colony.home.mkdir()
    (colony.home / ".env").write_bytes(b"COLONY_USER=\xff\xfe")
    done = colony("ticket", "list")
    assert (done.code, done.error) == (3, f"ERROR {colony.home}/.env: is not UTF-8 text (byte 12)")


def test_the_env_file_is_weaker_than_the_environment(colony: Colony) -> None:
    colony.register("shop")
    (colony.home / ".env").write_text("COLONY_PERSON=cy\n")
    colony("ticket", "new", "x")
    del colony.environ["COLONY_PERSON"]
    colony("ticket", "new", "y")
    found = colony("ticket", "list", "--json").objects
    assert [each.get("author") for each in found] == ["anna", "cy", None]


def test_a_tracker_of_another_kind_is_refused_without_its_password(colony: Colony) -> None:
    for url in ("postgresql://a:secret@db/x", "mysql://a:secret@db/x"):
        done = colony("ticket", "list", COLONY_TICKETS_URL=url)
        assert done.code == 2
        assert "COLONY_TICKETS_URL" in done.error
        assert "secret" not in done.error


def test_a_home_that_is_a_file(colony: Colony) -> None:
    colony.home.write_text("")
    done = colony("ticket", "new", "x", "--project", "shop")
    assert (done.code, done.error) == (2, f"ERROR {colony.home}/projects: Not a directory")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"name": "shop", "modle": 1}', "unknown key 'modle' (did you mean model?)"),
        ('{"name": "shop",', "JSON"),
        ("[" * 100_000, "inside each other"),
        ('{"name": "shop", "name": "shop"}', "name"),
        ('{"name": NaN}', "NaN"),
        ('{"name": "other", "dev": {"folder": "/x"}}', "the file is shop.json"),
        ('"\\ud800"', "surrogate"),
        ("[]", "not a JSON object"),
    ],
)
def test_a_broken_registry_file_is_named(colony: Colony, text: str, told: str) -> None:
    file = colony.register("shop", text)
    done = colony("init", "dev-shop", "--name", "shop")
    assert done.code == 2
    assert str(file) in done.error
    assert told in done.error
    assert file.read_text() == text


def test_registry_files_are_read_without_being_led_astray(colony: Colony, tmp_path: Path) -> None:
    colony.register("good")
    colony.register("idle", concept="", workers=False)
    colony.register("aimless", concept="")
    colony.register("lost", concept="NOWHERE.md")
    colony.register("gone", dev={"folder": str(tmp_path / "gone")})
    colony.register("far", dev={"folder": "/not/here", "host": "oak"})
    colony.register("near", dev={"folder": "/not/here", "host": "ELM"})
    colony.register("long", dev={"folder": "/" + "x" * 5000})
    colony.register("huge", json.dumps({"name": "huge", "note": "x" * 300_000}))
    projects = colony.home / "projects"
    os.mkfifo(projects / "fifo.json")
    (projects / "folder.json").mkdir()
    (projects / "latin.json").write_bytes(b'{"name": "\xe9"}')
    (projects / ".hidden.json").write_text("{")
    (projects / "notes.txt").write_text("{")
    found = read_registry(projects, colony.home, "elm")
    kinds = {
        name: "fine" if isinstance(each, Project) else each.kind
        for name, each in found.projects.items()
    }
    assert kinds == {
        "good": "fine", "idle": "fine", "aimless": "no concept", "lost": "no concept",
        "gone": "fine", "far": "fine", "near": "fine", "long": "fine", "huge": "broken",
        "fifo": "broken", "folder": "broken", "latin": "broken",
    }  # fmt: skip
    assert found.missing == {"gone", "near", "long"}
    assert list(kinds) == sorted(kinds)


def test_a_registry_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert read_registry(tmp_path / "none", tmp_path, "elm").projects == {}
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageProblem):
        read_registry(tmp_path / "file", tmp_path, "elm")


def test_places_are_seen_from_the_home_and_the_concept_from_the_dev_folder() -> None:
    home = Path("/h")
    places = folders_of(Project("p", concept="doc/c.md", dev_folder="d", code="/abs"), home)
    assert places.dev == Path("/h/d")
    assert places.concept == Path("/h/d/doc/c.md")
    assert places.code == Path("/abs")
    assert places.live is None
