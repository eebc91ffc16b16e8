"""The reaper over real trees and real run folders (seed 000): who is spared, and when it stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from orchard import Orchard, commit, git
from shop import HOST, verdict, worker

from colony.core.session import Facts, LeaseFacts, Outcome, ParkFacts
from colony.core.ticket import Ref
from colony.core.trees import tree_name
from colony.flow.tree_work import BUNDLE
from colony.host.journal import RunFolder
from colony.host.lock import lock_file


@pytest.fixture
def orchard(tmp_path: Path) -> Iterator[Orchard]:
    made = Orchard(tmp_path / "shop")
    yield made
    made.close()


def ended(orchard: Orchard, number: int = 1) -> Facts:
    """A session that has ended, with its tree."""
    return session(orchard, number, outcome=Outcome.POSTED)


def session(orchard: Orchard, number: int = 1, **changes: object) -> Facts:
    now_ms = orchard.time.wall_ms()
    ref = Ref("shop", number)
    setup = replace(orchard.setup(), **orchard.in_tree(ref))
    facts = Facts(orchard.dice.session_id(now_ms), ref, HOST, True, now_ms, setup)
    facts = replace(facts, lease=LeaseFacts(1, now_ms), **changes)  # type: ignore[arg-type]
    RunFolder.make(orchard.runs, facts.session)
    orchard.put(facts)
    return facts


def reap(orchard: Orchard, dispatched: str = "") -> tuple[str, ...]:
    """All that it would ever remove."""
    return orchard.reaper.reap(dispatched, lambda: False)


def why(orchard: Orchard) -> dict[str, str]:
    return {each.name: each.why for each in orchard.reaper.stays()[0]}


def test_the_tree_of_an_ended_session_is_removed_and_its_branch_stays(orchard: Orchard) -> None:
    ended(orchard)
    assert reap(orchard) == ("shop-1",)
    assert not orchard.tree.exists()
    assert orchard.in_base("rev-parse colony/shop-1")
    assert [line.kind for line in orchard.lines] == ["tree"]


def test_a_re_dispatch_does_not_reap_its_own_tree(orchard: Orchard) -> None:
    """Or it would cut it afresh, and drop what the attempt before left in it."""
    ended(orchard)
    ended(orchard, 2)
    assert reap(orchard, dispatched="shop-1") == ("shop-2",)
    assert orchard.tree.is_dir()


@pytest.mark.parametrize("kind", ["closed", "garbage", "just begun"])
def test_an_unreadable_list_of_sessions_reaps_nothing(
    orchard: Orchard, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(orchard)
    if kind == "closed":
        orchard.runs.rename(orchard.folder / "elsewhere")
        orchard.runs.write_text("no folder")
        assert reap(orchard) == ()
    elif kind == "garbage":
        RunFolder.make(orchard.runs, "s-20260131T1819-ffffff").write("session.json", b"{")
        assert reap(orchard) == ()
    else:
        new = RunFolder.make(orchard.runs, "s-20260131T1819-ffffff")
        with lock_file(new.lock, "session"):
            assert reap(orchard) == ()
        assert reap(orchard) == ("shop-1",)
        return
    assert orchard.tree.is_dir()
    assert why(orchard) == {"shop-1": "the list of running sessions cannot be read"}


def test_a_running_sessions_clean_tree_stays(orchard: Orchard) -> None:
    """One that has read a lot and written nothing yet has a clean tree."""
    facts = session(orchard)
    with lock_file(orchard.folder_of(facts.session).lock, "session"):
        assert reap(orchard) == ()
        assert "works in it" in why(orchard)["shop-1"]
    assert reap(orchard) == (), "nor is that of one whose process died"
    assert orchard.tree.is_dir()


def test_a_parked_sessions_tree_stays(orchard: Orchard) -> None:
    now_ms = orchard.time.wall_ms()
    session(orchard, parks=(ParkFacts(1, "limit", 1, now_ms, now_ms, "x", told=True),))
    assert reap(orchard) == ()
    assert "is parked in it" in why(orchard)["shop-1"]


def test_a_tree_whose_commit_is_not_saved_stays(orchard: Orchard) -> None:
    ended(orchard)
    commit(orchard.tree, {"gate.txt": "open\n"})
    assert reap(orchard) == ()
    assert "saved nowhere" in why(orchard)["shop-1"]


def test_a_commit_in_a_recorded_bundle_is_saved_as_long_as_the_bundle_is(orchard: Orchard) -> None:
    facts = ended(orchard)
    tip = commit(orchard.tree, {"gate.txt": "open\n"})
    made = orchard.folder / "made"
    git(orchard.tree, "bundle", "create", "-q", str(made), "refs/colony/base..colony/shop-1")
    folder = orchard.folder_of(facts.session)
    sha256 = folder.write(BUNDLE, made.read_bytes())
    tree = replace(facts.tree, tip=tip, bundle_sha256=sha256)
    orchard.put(replace(facts, tree=replace(tree, bundle_sha256="0" * 64)))
    assert reap(orchard) == ()
    orchard.put(replace(facts, tree=tree))
    assert reap(orchard) == ("shop-1",)


def test_an_untracked_file_keeps_a_tree(orchard: Orchard) -> None:
    ended(orchard)
    (orchard.tree / "draft.txt").touch()
    assert reap(orchard) == ()


def test_a_link_inside_our_folder_that_leads_elsewhere_is_not_followed(orchard: Orchard) -> None:
    ended(orchard)
    orchard.tree.rename(orchard.folder / "moved")
    orchard.tree.symlink_to(orchard.folder / "moved")
    assert reap(orchard) == ()
    assert (orchard.folder / "moved" / "gate.txt").exists()
    assert "leads out" in why(orchard)["shop-1"]


def test_the_oldest_go_first_and_only_until_there_is_room(orchard: Orchard) -> None:
    for number in (2, 3, 1):
        ended(orchard, number)
    left = [2]

    def enough() -> bool:
        left[0] -= 1
        return left[0] < 0

    assert orchard.reaper.reap("", enough) == ("shop-2", "shop-3")
    assert orchard.tree.is_dir()


def test_a_session_after_the_reaper_goes_on_from_the_branch(orchard: Orchard) -> None:
    orchard.merge = "never"
    orchard.play(work=[{"run": "echo open >gate.txt"}, *worker()], check=verdict())
    first = orchard.work().facts
    assert reap(orchard) == (tree_name(first.ticket),)
    orchard.moves("open")
    orchard.play(work=[{"run": "echo more >more.txt"}, *worker()], check=verdict())
    second = orchard.work().facts
    assert orchard.in_base(f"rev-parse {second.tree.tip}~1") == first.tree.tip
