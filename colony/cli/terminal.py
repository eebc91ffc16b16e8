"""What a terminal is shown in place of plain lines: drawn tables, laid-out Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colony.core.lines import printable

LAID_OUT_MAX = 20_000
"""Characters; a longer text is shown as it is, since laying it out could take very long."""


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], colour: bool) -> str:
    drawn = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
    for column in drawn.columns[:-1]:
        column.no_wrap = True
    for row in rows:
        # Text, not markup: a subject may hold brackets.
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    return _laid_out(drawn, colour)


def markdown(body: str, colour: bool) -> str:
    safe = "\n".join(_line(each) for each in body.splitlines())
    inner = Text(safe) if len(safe) > LAID_OUT_MAX else Markdown(safe, hyperlinks=False)
    return _laid_out(Padding(inner, (0, 0, 0, 2)), colour)


def _line(line: str) -> str:
    """Printable, with its indent, which means something in Markdown."""
    rest = line.lstrip(" \t")
    return line[: len(line) - len(rest)].expandtabs(4) + printable(rest)


def _laid_out(thing: RenderableType, colour: bool) -> str:
    console = Console(no_color=not colour, highlight=False)
    with console.capture() as captured:
        console.print(thing)
    return captured.get()
