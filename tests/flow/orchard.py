"""The shop with trees: a base repository, and sessions that work in trees of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shop import Shop

from colony.core.session import Setup
from colony.core.ticket import Ref
from colony.core.tree_facts import TreeSetup
from colony.core.trees import branch_of, tree_name
from colony.flow.bench import Bench
from colony.flow.reaping import Reaper
from colony.host.clock import SystemClock
from colony.host.journal import RunFolder
from colony.host.trees import Start, Trees
from colony.tracker.protocol import Tracker
from tests.fakes import repositories
from tests.fakes.repositories import ENV, commit, git


@dataclass
class Orchard(Shop):
    """`shop#1` has the tree `shop-1`, cut from `main`."""

    merge: str = "pass"
    commands: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.dev / ".git").exists():
            git(self.dev, "init", "-q", "--initial-branch=main")
            (self.dev / ".gitignore").write_text("built\n")
            commit(self.dev, {"gate.txt": "closed\n", "fence.txt": "green\n"})
            self.register(worktrees=True)

    @property
    def trees(self) -> Trees:
        return Trees(self.folder / "trees", SystemClock(), ENV["PATH"])

    @property
    def tree(self) -> Path:
        return self.folder / "trees" / "shop-1"

    @property
    def reaper(self) -> Reaper:
        return Reaper(self.trees, self.runs, self.lines.append)

    def bench(self, folder: RunFolder, tracker: Tracker | None = None, saved: Any = None) -> Bench:
        return replace(super().bench(folder, tracker, saved), trees=self.trees)

    def setup(self, **changes: Any) -> Setup:
        return super().setup(**self.in_tree(Ref("shop", 1)) | changes)

    def in_tree(self, ref: Ref) -> dict[str, Any]:
        """What the setup of a session on this ticket says of its tree, which is made."""
        start = self.trees.start(self.dev, branch_of(ref), "main")
        tree = TreeSetup(
            name=tree_name(ref), repository=str(self.dev), branch=start.branch, into=start.into,
            base=start.base, merge=self.merge, commands=self.commands,  # type: ignore[arg-type]
        )  # fmt: skip
        made = self.trees.make(tree.name, self.dev, Start(tree.branch, tree.into, tree.base))
        return {"folder": str(made), "tree": tree}

    def in_base(self, what: str) -> str:
        """What git says of the base."""
        return git(self.dev, *what.split())

    def warned(self) -> list[str]:
        return [line.text for line in self.lines if line.kind == "warning"]


__all__ = ["Orchard", "commit", "git", "repositories"]
