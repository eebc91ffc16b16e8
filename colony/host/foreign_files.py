"""The files in which a repository says what it is: somebody else's, and read as such."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from colony.core.guess.reading import FILES
from colony.host.files import Unsafe, read_text

BYTES_MAX: Final = 256 * 1024
ONLY_THERE: Final = frozenset(
    {"package-lock.json", "pnpm-lock.yaml", "yarn.lock", "uv.lock", "index.html"}
)
"""Files that say something by being there; they may be large."""


def shown_files(folder: Path) -> dict[str, str]:
    """Those of `core.guess.FILES` that are there, with their text. What is no plain file of a
    usual size inside the folder is passed over."""
    out: dict[str, str] = {}
    for name in FILES:
        if name in ONLY_THERE:
            if (folder / name).is_file():
                out[name] = ""
            continue
        try:
            text = read_text(folder / name, BYTES_MAX, within=folder)
        except Unsafe:
            continue
        if text is not None:
            out[name] = text
    return out
