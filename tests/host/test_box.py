"""Which containment this machine has, proved and not believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from colony.host.box import Namespaces, NoBox, Subreaper, detect
from tests.host.conftest import CLOCK, namespaces

NOWHERE = "/nonexistent"


def fake(folder: Path, script: str) -> str:
    """A folder with a bwrap that does what the script says."""
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(folder)


def test_a_box_that_is_on_shows_nothing_until_it_is_told_what() -> None:
    namespaces()
    box = detect("on", CLOCK)
    assert isinstance(box, Namespaces)
    assert (box.mounts, box.warning) == ((), "")
    assert box.hardening is not None
    off = detect("off", CLOCK)
    assert isinstance(off, Namespaces)
    assert "COLONY_SANDBOX=off" in off.warning


def test_on_without_bubblewrap_is_refused_with_what_to_do() -> None:
    with pytest.raises(NoBox) as caught:
        detect("on", CLOCK, search=NOWHERE)
    assert caught.value.exit_code == 3
    assert "install bubblewrap" in caught.value.line
    assert "COLONY_SANDBOX=off" in caught.value.line


def test_off_without_bubblewrap_is_the_subreaper_with_a_warning() -> None:
    box = detect("off", CLOCK, search=NOWHERE)
    assert isinstance(box, Subreaper)
    assert "bwrap is not installed" in box.warning


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "uid map"),
        ("exit 1", "no reason"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "no reason"),
    ],
    ids=["refused", "silent", "no namespace at all"],
)
def test_a_bubblewrap_that_makes_no_namespace_counts_as_none(
    tmp_path: Path, script: str, reason: str
) -> None:
    search = fake(tmp_path, script)
    with pytest.raises(NoBox, match=reason):
        detect("on", CLOCK, search=search)
    box = detect("off", CLOCK, search=search)
    assert isinstance(box, Subreaper)
    assert reason in box.warning
