"""The head of a git bundle: what it needs, and the one ref that it may bring (git-bundle(5))."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

HEAD_MAX: Final = 1024 * 1024
"""Bytes of a head; a longer one is none of ours."""

_SIGNATURE: Final = b"# v2 git bundle\n"
_NEEDS: Final = re.compile(rb"-([0-9a-f]{40})(?: [^\n]*)?", re.ASCII)
_BRINGS: Final = re.compile(rb"([0-9a-f]{40}) ([^\n]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Head:
    needs: tuple[str, ...]
    """Commits that must be there already."""
    tip: str
    """The commit that its one ref names."""
    length: int
    """Bytes of the head: the pack begins behind them."""


def read_head(data: bytes, ref: str | None = None) -> Head | str:
    """The head at the beginning of a bundle that brings one ref, which is `ref` where that is
    given, and nothing else; else why not."""
    if not data.startswith(_SIGNATURE):
        return "is no git bundle of version 2"
    end = data.find(b"\n\n", len(_SIGNATURE) - 1)
    if end < 0:
        return "has no end of its head"
    needs: list[str] = []
    brings: list[tuple[str, bytes]] = []
    for line in data[len(_SIGNATURE) : end].split(b"\n"):
        if not brings and (needed := _NEEDS.fullmatch(line)):
            needs.append(needed[1].decode())
        elif found := _BRINGS.fullmatch(line):
            brings.append((found[1].decode(), found[2]))
        else:
            return "has a line in its head that cannot be read"
    if len(brings) != 1:
        return f"brings {len(brings)} refs, should bring one"
    tip, name = brings[0]
    if ref is not None and name != ref.encode():
        return f"brings another ref than {ref}"
    return Head(tuple(needs), tip, end + 2)
