"""Removing run folders: what is seen first is looked at again behind the locks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from shop import SHOP, Shop

from colony.core.prune import Bounds
from colony.core.session import Facts
from colony.flow import pruning
from colony.flow.pruning import Sweep, prune
from colony.host.files import CannotWrite
from colony.host.journal import RunFolder
from colony.host.lock import is_locked

FIRST, SECOND = "s-20260101T0000-00000a", "s-20260101T0001-00000b"


@pytest.fixture
def sweep(shop: Shop) -> Sweep:
    """Two ended sessions of a ticket that is done."""
    facts = shop.work().facts
    for name in (FIRST, SECOND):
        RunFolder.make(shop.runs, name)
        shop.put(replace(facts, session=name, started_ms=int(name[-1], 16)))
    RunFolder(shop.runs / facts.session).discard()
    shop.moves("done")
    return Sweep(
        home=shop.folder,
        runs=shop.runs,
        tickets={each.ref: each for each in shop.colony.tickets()},
        bounds=Bounds(keep=0),
        now_ms=shop.time.wall_ms(),
        dry_run=False,
    )


def test_both_go(shop: Shop, sweep: Sweep) -> None:
    *lines, total = prune(sweep)
    assert [line.facts["removed"] for line in lines] == [True, True]
    assert (total.facts["removed"], total.facts["kept"], shop.sessions) == (2, 0, [])
    freed = total.facts["freedBytes"]
    assert freed == sum(int(str(line.facts["bytes"])) for line in lines)
    assert int(str(freed)) > 0
    assert {line.ticket for line in lines} == {str(SHOP)}


@pytest.mark.parametrize("target", ["/etc/passwd", "nowhere"])
def test_a_lock_that_is_no_file_is_said(shop: Shop, sweep: Sweep, target: str) -> None:
    lock = RunFolder(shop.runs / FIRST).lock
    lock.unlink(missing_ok=True)
    lock.symlink_to(target)
    first, *_ = prune(sweep)
    assert first.text == (
        f"{FIRST} kept: its lock is no file: nobody can tell whether it is running"
    )
    assert shop.sessions == [FIRST]


def changed(facts: Facts) -> Facts:
    return replace(facts, outcome=None, ended_ms=None)


def test_what_changed_since_it_was_seen_stays(shop: Shop, sweep: Sweep) -> None:
    lines = prune(sweep)
    assert next(lines).session == FIRST
    shop.put(changed(shop.facts(SECOND)))
    assert next(lines).text == f"{SECOND} kept: its result is not posted (posting)"
    assert shop.sessions == [SECOND]


def test_what_became_garbage_since_it_was_seen_stays(shop: Shop, sweep: Sweep) -> None:
    lines = prune(sweep)
    next(lines)
    (shop.runs / SECOND / "session.json").write_text("{")
    assert "kept: it cannot be read: " in next(lines).text
    assert shop.sessions == [SECOND]


def test_it_is_renamed_behind_both_locks(
    shop: Shop, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = pruning.put_away

    def put_away(folder: RunFolder) -> str:
        (folder.path / "lock").touch()
        seen.append(is_locked(shop.folder / "home.lock"))
        return real(folder)

    def remove_away(runs: Path, away: str) -> None:
        seen.append(is_locked(shop.folder / "home.lock"))

    monkeypatch.setattr(pruning, "put_away", put_away)
    monkeypatch.setattr(pruning, "remove_away", remove_away)
    list(prune(sweep))
    # Renamed while nobody else decides, emptied while everybody can.
    assert seen == [True, False, True, False]


def test_what_cannot_be_removed_is_told_and_stops_nothing(
    shop: Shop, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pruning.remove_away

    def remove_away(runs: Path, away: str) -> None:
        if FIRST in away:
            raise CannotWrite(f"{away}: not removed: it is mounted")
        real(runs, away)

    monkeypatch.setattr(pruning, "remove_away", remove_away)
    first, second, total = prune(sweep)
    assert first.text == f"{FIRST} NOT removed: .removed-{FIRST}: not removed: it is mounted"
    assert second.facts["removed"] is True
    assert total.text.startswith("1 removed, 0 kept, 1 NOT removed")
    assert total.facts["failed"] == 1
    monkeypatch.undo()
    again = list(prune(sweep))
    assert again[0].text.endswith("an earlier removal was cut off")
