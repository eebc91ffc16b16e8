"""What a part made where it must not, and how that is undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from colony.host.protection import MISSING, THERE, Guarded, states_of, undo

PLACES = (".github/workflows", ".mcp.json", ".claude/settings.json")


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    folder = tmp_path / "shop"
    folder.mkdir()
    return Guarded(folder, PLACES)


def test_the_state_of_each_place_and_of_the_way_to_it(guarded: Guarded) -> None:
    (guarded.folder / ".mcp.json").write_text("{}")
    (guarded.folder / ".claude").symlink_to("agents")
    assert states_of(guarded) == {
        ".github": MISSING, ".github/workflows": MISSING, ".mcp.json": THERE,
        ".claude": "link to agents", ".claude/settings.json": MISSING,
    }  # fmt: skip


def test_what_was_made_goes_and_is_told(guarded: Guarded) -> None:
    before = states_of(guarded)
    workflows = guarded.folder / ".github" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "ci.yml").write_text("on: push")
    (guarded.folder / ".github" / "CODEOWNERS").write_text("* @anna")
    (guarded.folder / ".mcp.json").write_text("{}")
    told = undo(guarded, before)
    assert [line.partition(":")[0] for line in told] == [
        "removed .github/workflows", "removed .mcp.json",
    ]  # fmt: skip
    assert not workflows.exists()
    assert (guarded.folder / ".github" / "CODEOWNERS").exists(), "what is beside it stays"


def test_what_was_there_stays(guarded: Guarded) -> None:
    (guarded.folder / ".mcp.json").write_text("{}")
    before = states_of(guarded)
    assert undo(guarded, before) == ()
    assert (guarded.folder / ".mcp.json").read_text() == "{}"


def test_a_link_that_leads_a_closed_place_elsewhere_goes_and_its_target_stays(
    guarded: Guarded, tmp_path: Path
) -> None:
    before = states_of(guarded)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "settings.json").write_text("{}")
    (guarded.folder / ".claude").symlink_to(elsewhere)
    assert undo(guarded, before) == ("removed .claude: it would be run outside of the box",)
    assert not (guarded.folder / ".claude").is_symlink()
    assert (elsewhere / "settings.json").exists()


def test_a_link_that_was_there_stays_and_one_that_was_changed_goes(guarded: Guarded) -> None:
    (guarded.folder / ".claude").symlink_to("agents")
    before = states_of(guarded)
    assert undo(guarded, before) == ()
    (guarded.folder / ".claude").unlink()
    (guarded.folder / ".claude").symlink_to("others")
    assert undo(guarded, before) == ("removed .claude: it would be run outside of the box",)


def test_a_dangling_link_counts(guarded: Guarded) -> None:
    before = states_of(guarded)
    (guarded.folder / ".mcp.json").symlink_to("/nonexistent")
    assert undo(guarded, before) == ("removed .mcp.json: it would be run outside of the box",)
