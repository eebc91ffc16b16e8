"""What a terminal is shown in place of plain lines: drawn tables, laid-out Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colony.core.lines import printable

LAID_OUT_MAX: Final = 20_000
"""Characters; a longer text is shown as it is, since laying it out could take very long."""
DEPTH_MAX: Final = 12
"""Levels of lists and quotes; a deeper text is shown as it is: each takes width from the next."""

_READER: Final = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["strikethrough", "table"])
    # What they read is not drawn.
    .disable(["reference", "image"])
)
_STYLE: Final = re.compile(r"\x1b\[[\d;]*m")


LAST_MIN: Final = 20
"""Characters that the last column, the only one that wraps, needs to be read."""


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], colour: bool) -> str | None:
    """The rows, drawn; None where the terminal is too narrow for more than pieces of them."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    if sum(widths[:-1]) + 2 * len(widths) + min(widths[-1], LAST_MIN) > Console().width:
        return None
    drawn = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
    for column in drawn.columns[:-1]:
        column.no_wrap = True
    for row in rows:
        # Text, not markup: a subject may hold brackets.
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    return _laid_out(drawn, colour)


def markdown(body: str, colour: bool) -> str:
    safe = "\n".join(_line(each) for each in body.splitlines())
    drawn = _drawn(safe, colour) if len(safe) <= LAID_OUT_MAX else None
    return _indented(Text(safe), colour) if drawn is None else drawn


def _drawn(text: str, colour: bool) -> str | None:
    """The text laid out; None where that would hide some of it."""
    layout = Markdown("", hyperlinks=False)
    layout.parsed = _READER.parse(text)
    if any(token.level > DEPTH_MAX for token in layout.parsed):
        return None
    drawn = _indented(layout, colour)
    # Markdown leaves out a cell too many, the title of a link, what a narrow terminal cannot hold.
    languages = "".join(token.info for token in layout.parsed)
    hidden = _letters(text) - _letters(_STYLE.sub("", drawn)) - _letters(languages)
    return None if hidden else drawn


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalpha, text))


def _indented(thing: RenderableType, colour: bool) -> str:
    return _laid_out(Padding(thing, (0, 0, 0, 2)), colour)


def _line(line: str) -> str:
    """Printable, with its indent, which means something in Markdown."""
    rest = line.lstrip(" \t")
    return line[: len(line) - len(rest)].expandtabs(4) + printable(rest)


def _laid_out(thing: RenderableType, colour: bool) -> str:
    console = Console(no_color=not colour, highlight=False)
    with console.capture() as captured:
        console.print(thing)
    return captured.get()
