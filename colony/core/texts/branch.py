"""What a result says of its branch: where the work lies, and whether the base has it."""

from __future__ import annotations

from typing import Final

from colony.core.texts.layout import say
from colony.core.tree_facts import TreeFacts, TreeSetup

FILES_SHOWN: Final = 20
HASH_SHOWN: Final = 12


def told(setup: TreeSetup, tree: TreeFacts) -> str:
    """One line; empty where there is nothing of a branch to tell."""
    branch = say(setup.branch)
    if tree.not_saved:
        return f"branch {branch} is not saved: {say(tree.not_saved)}"
    if not tree.tip:
        return f"branch {branch} has nothing new"
    where = f"branch {branch} {tree.tip[:HASH_SHOWN]} · bundle {tree.bundle_sha256[:HASH_SHOWN]}"
    match tree.merged:
        case "merged":
            return f"{where} · merged into {say(setup.into)}"
        case "conflicts":
            return f"{where} · {conflict(setup, tree)}"
        case "left":
            return f"{where} · not merged into {say(setup.into)}: {say(tree.not_merged)}"
        case _:
            return where


def conflict(setup: TreeSetup, tree: TreeFacts) -> str:
    """Why it was not merged, with the files."""
    files = ", ".join(say(each, 100) for each in tree.conflicts[:FILES_SHOWN])
    more = len(tree.conflicts) - FILES_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    return f"conflicts with {say(setup.into)} in {files}{rest}"


def to_do(setup: TreeSetup) -> str:
    """What the next worker has to do first, as an open point of the report."""
    return f"Merge {setup.into} into {setup.branch} and bring the conflicting files together"
