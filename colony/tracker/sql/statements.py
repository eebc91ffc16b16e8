"""The SQL files: named statements of `queries/`, numbered steps of `migrations/`."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Step:
    """What takes a schema from `number - 1` to `number`."""

    number: int
    statements: tuple[str, ...]


@functools.cache
def queries() -> Mapping[str, str]:
    """Name -> statement. A statement begins at its line `-- name: …` and ends at the next one."""
    found: dict[str, str] = {}
    for file in sorted((_HERE / "queries").glob("*.sql")):
        _, *parts = re.split(r"^-- name: (\w+)\n", file.read_text("utf-8"), flags=re.MULTILINE)
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"two statements are named {name}")
            found[name] = text.strip()
    return found


@functools.cache
def steps() -> tuple[Step, ...]:
    """`migrations/NNNN_what.sql`, in order. A statement ends with a semicolon at a line's end."""
    return tuple(
        Step(int(file.name[:4]), _split(file.read_text("utf-8")))
        for file in sorted((_HERE / "migrations").glob("*.sql"))
    )


def _split(script: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r";\n", script) if part.strip())
