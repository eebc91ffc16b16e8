"""Making room on the disk: trees that are proved to be nobody's are removed, oldest first.

Whether a tree may go is said by `core.trees`; here is who works where, and when it is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from colony.core.lines import Line
from colony.core.session import Facts
from colony.core.trees import Stays, TreeSeen, kept_because, stay_and_go
from colony.errors import ColonyError, Refused
from colony.flow.bench import Emit
from colony.flow.runs import facts_of, not_ended
from colony.flow.tree_work import BUNDLE
from colony.host.journal import Garbage, RunFolder, list_runs
from colony.host.lock import is_locked
from colony.host.trees import NO_BUNDLES, Saved, Trees


@dataclass(frozen=True, slots=True)
class Reaper:
    trees: Trees
    runs: Path
    emit: Emit

    def reap(self, dispatched: str, enough: Callable[[], bool]) -> tuple[str, ...]:
        """Remove trees until there is enough room; the names of those that are gone.

        `dispatched`: the tree of the ticket for which room is made: its own branch is in it.
        """
        busy = self.busy(dispatched)
        if busy is None:
            return ()
        gone: list[str] = []
        try:
            self.trees.sweep()
            bundles = self._bundles()
            for name in self.trees.oldest_first():
                if enough():
                    break
                saved = bundles.get(name, NO_BUNDLES)
                if name not in busy and self._removed(name, saved):
                    gone.append(name)
        except ColonyError as error:
            self.emit(Line("warning", f"— no more trees are removed: {error.line}"))
        return tuple(gone)

    def _removed(self, name: str, saved: Saved) -> bool:
        seen = self.trees.look(name, saved)
        if kept_because(seen, {}) or self.trees.remove(name, seen, saved):
            return False
        self.emit(Line("tree", f"— {name} is removed to make room; its branch stays"))
        return True

    def stays(self) -> tuple[tuple[Stays, ...], tuple[TreeSeen, ...]]:
        """Every tree: those that stay, each with the reason, and those that may go."""
        bundles = self._bundles()
        seen = [self.trees.look(name, bundles.get(name, NO_BUNDLES)) for name in self.trees.names()]
        return stay_and_go(seen, self.busy(""))

    def busy(self, dispatched: str) -> Mapping[str, str] | None:
        """Trees in which a session runs, is parked, or has not ended. None: that cannot be told."""
        busy = {dispatched: "it is being dispatched"} if dispatched else {}
        try:
            folders = not_ended(self.runs)
        except Refused:
            return None
        for folder in folders:
            facts = facts_of(folder)
            if isinstance(facts, Garbage) or (facts is None and is_locked(folder.lock)):
                return None
            if isinstance(facts, Facts) and facts.outcome is None and facts.setup.tree is not None:
                stands = "is parked in it" if facts.parked else "has not ended"
                running = is_locked(folder.lock)
                told = f"session {facts.session} {'works in it' if running else stands}"
                busy.setdefault(facts.setup.tree.name, told)
        return busy

    def _bundles(self) -> dict[str, dict[str, Path]]:
        """By tree: what sessions saved of it, as far as the file is the recorded one."""
        found: dict[str, dict[str, Path]] = {}
        for folder in self._all():
            facts = facts_of(folder)
            if not isinstance(facts, Facts) or facts.setup.tree is None or not facts.tree.tip:
                continue
            if folder.holds(BUNDLE, facts.tree.bundle_sha256):
                of_tree = found.setdefault(facts.setup.tree.name, {})
                of_tree[facts.tree.tip] = folder.path / BUNDLE
        return found

    def _all(self) -> tuple[RunFolder, ...]:
        try:
            return list_runs(self.runs)
        except Refused:
            return ()
