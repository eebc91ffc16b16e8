"""The text of a `.env` file as variables, each with the line it stands on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.ASCII)
_QUOTED: Final = re.compile(r"""(?:"([^"]*)"|'([^']*)')\s*(?:#.*)?""")
_COMMENT: Final = re.compile(r"(?:^|\s+)#.*")


@dataclass(frozen=True, slots=True)
class Entry:
    value: str
    line: int


class BadLine(ValueError):
    """A line is no assignment. `line` counts from 1."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


def parse(text: str) -> dict[str, Entry]:
    """Variables in their order. Lines are `NAME=value`, `export NAME=value`, quoted or not;
    nothing is expanded. BadLine for anything else and for a name that stands twice."""
    entries, bad = usable(text)
    if bad:
        raise bad[0]
    return entries


def usable(text: str) -> tuple[dict[str, Entry], tuple[BadLine, ...]]:
    """What `parse` reads, as far as it can be read, and the lines that it would refuse."""
    out: dict[str, Entry] = {}
    bad: list[BadLine] = []
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            name, value = _assignment(line, number)
            if name in out:
                raise BadLine(number, f"{name} is set twice (first on line {out[name].line})")
            out[name] = Entry(value, number)
        except BadLine as problem:
            bad.append(problem)
    return out, tuple(bad)


def _assignment(line: str, number: int) -> tuple[str, str]:
    found = _ASSIGNMENT.fullmatch(line)
    if found is None:
        raise BadLine(number, "not of the form NAME=value")
    name, rest = found[1], found[2]
    if not rest.startswith(("'", '"')):
        return name, _COMMENT.sub("", rest)
    quoted = _QUOTED.fullmatch(rest)
    if quoted is None:
        raise BadLine(number, f"{name}: the quotes do not match")
    return name, quoted[1] if quoted[1] is not None else quoted[2]
