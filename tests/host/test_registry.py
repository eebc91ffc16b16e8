"""The registry's places: a concept that is none is told as what it is."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from pathlib import Path

import pytest

from colony.core.survey import ProjectTrouble
from colony.host.registry import Registry, read_registry


def registry(home: Path) -> Registry:
    """Of one project, `shop`, whose concept is `dev/CONCEPT.md`."""
    (home / "projects").mkdir()
    (home / "dev").mkdir(exist_ok=True)
    file = {"name": "shop", "concept": "CONCEPT.md", "dev": {"folder": "dev"}}
    (home / "projects" / "shop.json").write_text(json.dumps(file))
    return read_registry(home / "projects", home, "elm")


def told(found: Registry) -> str:
    trouble = found.projects["shop"]
    assert isinstance(trouble, ProjectTrouble)
    assert trouble.kind == "no concept"
    assert not found.missing
    return trouble.text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("nothing", "does not exist"),
        ("dangling", "does not exist"),
        ("fifo", "is a FIFO, not a file"),
        ("folder", "is a folder, not a file"),
        ("socket", "is a socket, not a file"),
        ("device", "is a device, not a file"),
        ("loop", "cannot be looked at: too many levels of symbolic links"),
    ],
)
def test_a_concept_that_is_no_file(tmp_path: Path, kind: str, words: str) -> None:
    concept = tmp_path / "dev" / "CONCEPT.md"
    concept.parent.mkdir()
    match kind:
        case "fifo":
            os.mkfifo(concept)
        case "folder":
            concept.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(concept.parent):
                server.bind(concept.name)
        case "dangling" | "loop" | "device":
            to = {"dangling": "nowhere", "loop": concept.name, "device": "/dev/zero"}[kind]
            concept.symlink_to(to)
        case _:
            pass
    assert told(registry(tmp_path)) == f"shop: {concept} {words}"


def test_a_dev_folder_that_cannot_be_looked_into(plain_folder: Path) -> None:
    dev = plain_folder / "dev"
    dev.mkdir()
    (dev / "CONCEPT.md").write_text("A shop.")
    dev.chmod(0)
    try:
        text = told(registry(plain_folder))
    finally:
        dev.chmod(0o700)
    assert text == f"shop: {dev}/CONCEPT.md cannot be looked at: permission denied"
