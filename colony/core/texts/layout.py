"""How a text is put together: blocks for a person, the words of others made safe, a machine line.

Texts are Markdown, read on a page and in a terminal. Blocks are divided by an empty line, so that
both show the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from colony.core.lines import clip
from colony.core.markers import Marker, defuse, format
from colony.core.money import cents_of, dollars, nanos_of
from colony.core.ticket import Ref

WORDS_MAX: Final = 160
"""Characters of somebody else's words within a line."""
LINKS_MAX: Final = 3
"""Links in one line."""

_MARKUP: Final = re.compile(
    r"""
    \\ (?= [!-/:-@\[-`{-~] | $ )        # a backslash that would change what follows
    | [`\[]                             # code, links
    | \* (?! (?<=\s\*) \s )             # emphasis, unless it stands alone
    | (?<! [^\W_] ) _ | _ (?! [^\W_] )  # emphasis, unless inside a word
    | ~ (?= ~ ) | (?<= ~ ) ~            # struck out, fences
    | < (?= [a-zA-Z/!?] )               # HTML, addresses
    | & (?= \#? \w+ ; )                 # named characters
    """,
    re.VERBOSE,
)
_OPENS_A_BLOCK: Final = "#>-+=/*_~:|"
_OPENS_A_LIST: Final = re.compile(r"^([0-9]{1,9})([.)])(?= |$)")
_URL: Final = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&*+,;=%-]{1,2000}", re.ASCII)


def say(text: str, limit: int = WORDS_MAX) -> str:
    """Somebody else's words as part of a line: one line, at most `limit` characters of them,
    shown by Markdown as they were typed, and nothing that a program could take for an order."""
    line = clip(defuse(clip(text, limit)), limit + 2)
    line = _MARKUP.sub(lambda found: f"\\{found[0]}", line)
    if line[:1] and line[0] in _OPENS_A_BLOCK:
        return f"\\{line}"
    return _OPENS_A_LIST.sub(r"\1\\\2", line)


def lay(*blocks: str | Sequence[str], machine: Marker | None = None) -> str:
    """The text: each block a line or a list of lines; empty ones are left out."""
    parts = [block if isinstance(block, str) else "\n".join(block) for block in blocks]
    if machine is not None:
        parts.append(format(machine))
    return "\n\n".join(part for part in parts if part)


def bullets(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def link(ref: Ref, url: str) -> str:
    """`[shop #6](url)`; `shop#6` where there is no address that Markdown could hold."""
    if not _URL.fullmatch(url):
        return str(ref)
    return f"[{ref.project} #{ref.number}]({url})"


def listed(items: Sequence[str]) -> str:
    """`a, b, c and 2 more`"""
    more = len(items) - LINKS_MAX
    shown = ", ".join(items[:LINKS_MAX])
    return f"{shown} and {more} more" if more > 0 else shown


def when(ms: int, offset_minutes: int) -> str:
    """A time for a person: `2026-01-31 19:19 UTC+01:00`, from UTC milliseconds."""
    zone = timezone(timedelta(minutes=offset_minutes))
    try:
        moment = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).astimezone(zone)
    except OverflowError:
        return f"{ms} ms"
    return f"{moment:%Y-%m-%d %H:%M} {zone.tzname(None)}"


def price(cost_usd: float, known: bool, runs: int) -> str:
    """`$1.84 · 2 sessions`; a run that was cut off leaves only a lower bound."""
    amount = dollars(cents_of(nanos_of(cost_usd)))
    counted = f"{runs} session" if runs == 1 else f"{runs} sessions"
    return f"{amount if known else f'at least {amount}'} · {counted}"
