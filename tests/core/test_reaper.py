"""Which trees may be taken away: a table of what keeps each (seed 000, field reports)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colony.core.ticket import Ref
from colony.core.trees import (
    Stays,
    TreeSeen,
    branch_of,
    kept_because,
    oldest_first,
    ref_of,
    stay_and_go,
    tree_name,
)
from colony.errors import Refused

FREE = TreeSeen("shop-1", 5, ours=True, dirty=False, unsaved=False, stash=False)
BUSY = {"shop-1": "session s-1 runs in it"}


def test_a_tree_that_is_proved_to_be_nobodys_may_go() -> None:
    assert kept_because(FREE, {}) == ""


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        (replace(FREE, ours=False), "no tree that Colony made"),
        (replace(FREE, locked="git works in it"), "git works in it"),
        (replace(FREE, dirty=True), "not committed"),
        (replace(FREE, dirty=None), "could not be looked at"),
        (replace(FREE, unsaved=True), "saved nowhere"),
        (replace(FREE, unsaved=None), "could not be looked at"),
        (replace(FREE, stash=True), "stashed"),
        (replace(FREE, stash=None, why="its .git is no folder"), "no folder"),
    ],
)
def test_one_thing_that_is_not_proved_keeps_it(tree: TreeSeen, why: str) -> None:
    assert why in kept_because(tree, {})


def test_a_busy_tree_stays_however_clean_it_is() -> None:
    assert kept_because(FREE, BUSY) == "session s-1 runs in it"
    assert kept_because(replace(FREE, dirty=True), BUSY) == "session s-1 runs in it"


def test_an_unreadable_list_of_sessions_reaps_nothing() -> None:
    stays, go = stay_and_go([FREE, replace(FREE, name="shop-2")], None)
    assert not go
    assert [each.why for each in stays] == ["the list of running sessions cannot be read"] * 2


def test_the_oldest_go_first() -> None:
    trees = [replace(FREE, name=f"shop-{n}", used_ms=used) for n, used in ((1, 9), (2, 3), (3, 6))]
    assert [tree.name for tree in oldest_first(trees)] == ["shop-2", "shop-3", "shop-1"]
    stays, go = stay_and_go(trees, BUSY)
    assert [tree.name for tree in go] == ["shop-2", "shop-3"]
    assert stays == (Stays("shop-1", "session s-1 runs in it"),)


def test_names_are_made_of_project_and_number_alone() -> None:
    for ref in (Ref("shop", 1), Ref("a-1", 2), Ref("web.site", 999)):
        assert ref_of(tree_name(ref)) == ref
        assert branch_of(ref) == f"colony/{tree_name(ref)}"
    for name in ("shop", "shop-0", "shop-01", ".new-shop-1", "shop-1/x", "Shop-1", "shop--", ""):
        assert ref_of(name) is None
    with pytest.raises(Refused):
        branch_of(Ref("a..b", 1))
