"""Which places of a project stay closed, and how one of them could be led astray."""

from __future__ import annotations

import pytest

from colony.core.protected import PROTECTED, on_the_way, protected


@pytest.mark.parametrize(
    "place",
    [".git/hooks", ".git/config", ".claude/settings.json", ".mcp.json", ".vscode", ".bashrc",
     ".github/workflows", ".gitlab-ci.yml"],
)  # fmt: skip
def test_what_runs_later_is_closed(place: str) -> None:
    assert place in protected(())


@pytest.mark.parametrize(
    ("writable", "opened"),
    [
        (".github/workflows", {".github/workflows"}),
        (".github", {".github/workflows", ".github/actions"}),
        (".github/", {".github/workflows", ".github/actions"}),
        (".git", {each for each in PROTECTED if each.startswith(".git/")}),
        (".gi", set()),
        (".claude/settings", set()),
    ],
)
def test_writable_opens_a_place_and_what_lies_in_it(writable: str, opened: set[str]) -> None:
    assert set(PROTECTED) - set(protected((writable,))) == opened


def test_the_folders_on_the_way_are_looked_at_first() -> None:
    assert on_the_way((".github/workflows", ".mcp.json", ".github/actions")) == (
        ".github", ".github/workflows", ".mcp.json", ".github/actions",
    )  # fmt: skip
