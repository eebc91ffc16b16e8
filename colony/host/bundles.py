"""Taking one branch out of a bundle that was made in a box: nothing else of it is believed.

The file is Colony's own copy. Its head must name the one ref; its pack is read apart from the base
first, each object checked (`--strict`), and only what is whole goes to the base's objects.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from colony.core.bundle import HEAD_MAX, Head, read_head
from colony.errors import Refused
from colony.host.git import LONG_S, GitFailed
from colony.host.repository import NONE, Repository, View

BUNDLE_MAX: Final = 512 * 1024 * 1024
"""Bytes of a bundle (F60)."""


class BadBundle(Refused):
    """A bundle that was not taken; the base repository is as it was."""

    code = "bundle"


def take_branch(base: Repository, bundle: Path, branch: str, note: str) -> str:
    """The branch of the base is now the bundle's tip, and no other ref changed; the tip.

    Safe to repeat. `BadBundle`, `GitFailed`: it is not what it should be, needs what is not there,
    or the branch is checked out.
    """
    opened = os.open(bundle, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if os.fstat(opened).st_size > BUNDLE_MAX:
            raise BadBundle(f"{bundle}: is larger than {BUNDLE_MAX} bytes")
        head = read_head(os.pread(opened, HEAD_MAX, 0), f"refs/heads/{branch}")
        if isinstance(head, str):
            raise BadBundle(f"{bundle}: {head}")
        with base.view() as apart:
            _verified(apart, bundle, opened, head)
        if branch in base.checked_out():
            raise GitFailed(f"branch {branch} of {base.top}: is checked out, so it is not moved")
        with base.view(into_base=True) as inside:
            _unpack(inside, opened, head)
    finally:
        os.close(opened)
    before = base.branch(branch)
    if before != head.tip:
        base.set_branch(branch, head.tip, before or NONE, note)
    return head.tip


def unpack(view: View, bundle: Path) -> None:
    """Its objects, checked, in a view that is only for the moment. `BadBundle`, `GitFailed`."""
    opened = os.open(bundle, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        head = read_head(os.pread(opened, HEAD_MAX, 0))
        if isinstance(head, str):
            raise BadBundle(f"{bundle}: {head}")
        _unpack(view, opened, head)
    finally:
        os.close(opened)


def _verified(apart: View, bundle: Path, opened: int, head: Head) -> None:
    """Whole, and resting on what the base has: in a view, so that none of it stays."""
    try:
        apart.run("bundle", "verify", str(bundle), timeout_s=LONG_S)
        _unpack(apart, opened, head)
        if apart.run("cat-file", "-t", head.tip) != "commit":
            raise BadBundle(f"{bundle}: its ref leads to no commit")
        walk = ("rev-list", "--objects", "--quiet", head.tip, "--not", "--all", "--")
        apart.run(*walk, timeout_s=LONG_S)
    except GitFailed as failed:
        raise BadBundle(f"{bundle}: {failed.line}") from None


def _unpack(view: View, opened: int, head: Head) -> None:
    os.lseek(opened, head.length, os.SEEK_SET)
    limits = ("--strict", "--fix-thin", f"--max-input-size={BUNDLE_MAX}")
    view.run("index-pack", *limits, "--stdin", timeout_s=LONG_S, stdin=opened)
