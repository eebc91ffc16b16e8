"""How lines reach whoever reads them: text or JSON, on a terminal or in a pipe."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Literal, TextIO

from colony.core.lines import KINDS, Line, printable

Style = Literal["", "dim", "bold"]
_SGR = {"dim": "\x1b[2m", "bold": "\x1b[1m"}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table: its cells for people, the line itself for programs."""

    line: Line
    cells: tuple[str, ...]


class Sink:
    """A stream that never fails its writer: work must not end because nobody reads of it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.lost = ""
        """Why something could not be written; empty also where the reader just went away."""
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            # Each line is a fact that somebody may be waiting for.
            self._stream.flush()
        except OSError as error:
            self.lost = "" if error.errno == errno.EPIPE else str(error.strerror)
            self._to_nowhere(self._stream)

    def _to_nowhere(self, stream: TextIO) -> None:
        """What the stream still holds goes there too: the interpreter flushes it at the end."""
        self._stream = None
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)

    @property
    def gone(self) -> bool:
        """Nobody reads any more: who writes only to be read can stop."""
        return self._stream is None

    @property
    def is_terminal(self) -> bool:
        return self._stream is not None and self._stream.isatty()


@dataclass(frozen=True, slots=True)
class Show:
    """What every command prints through."""

    out: Sink
    err: Sink
    json: bool = False
    colour: bool = False
    """`out` is a terminal that may be coloured."""
    wide: bool = False
    """`out` is a terminal: tables are drawn, Markdown is laid out."""

    @classmethod
    def on_process(cls, environ: Mapping[str, str]) -> Show:
        """Standard output and error of this process."""
        out, err = Sink(sys.stdout), Sink(sys.stderr)
        terminal = out.is_terminal and environ.get("TERM") != "dumb"
        return cls(out, err, colour=terminal and not environ.get("NO_COLOR"), wide=terminal)

    def as_json(self) -> Show:
        return replace(self, json=True, colour=False, wide=False)

    def line(self, line: Line, style: Style = "") -> None:
        """Print one fact."""
        text = line.as_json_text() if self.json else line.as_text()
        if text and style and self.colour:
            text = f"{_SGR[style]}{text}\x1b[0m"
        self.out.write(text + "\n")

    def gap(self) -> None:
        """An empty line, for people only."""
        if not self.json:
            self.out.write("\n")

    def block(self, line: Line, body: str) -> None:
        """A line with a text of many lines under it (Markdown); one JSON object with that text."""
        if self.json:
            self.line(replace(line, text=body))
            return
        self.line(line, "bold")
        if self.wide:
            self.out.write(_terminal().markdown(body, self.colour))
            return
        for each in body.splitlines():
            self.line(Line("ticket.text", each))

    def table(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Rows drawn on a terminal that is wide enough, in plain columns elsewhere; one JSON object
        a row."""
        if self.json:
            for row in rows:
                self.line(row.line)
            return
        drawn = None
        if self.wide and rows:
            drawn = _terminal().table(columns, [row.cells for row in rows], self.colour)
        for text in _aligned(rows) if drawn is None else (drawn.removesuffix("\n"),):
            self.out.write(text + "\n")

    def problem(self, line: Line) -> None:
        """An error or a warning: on stderr for people, among the JSON lines for programs."""
        if self.json:
            self.out.write(line.as_json_text() + "\n")
        else:
            self.err.write(line.as_text() + "\n")


def _aligned(rows: Sequence[Row]) -> Iterator[str]:
    cells = [tuple(printable(cell) for cell in row.cells) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row, texts in zip(rows, cells, strict=True):
        padded = (text.ljust(width) for text, width in zip(texts, widths, strict=True))
        yield f"{KINDS[row.line.kind]} {'  '.join(padded)}".rstrip()


def _terminal() -> ModuleType:
    """Rich costs more than the whole rest of a short command."""
    from colony.cli import terminal  # noqa: PLC0415

    return terminal
