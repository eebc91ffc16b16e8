"""Keywords: the short commands that people write as the first word of a comment.

This reads them; acting on them, and answering, is done elsewhere. Case does not matter, since
telephones begin a comment with a capital letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from colony.core.people import People, may_order
from colony.core.ticket import Event

Word = Literal["hold", "resume", "prio", "confirm", "reject", "answer", "accept", "budget", "model"]

PRIORITIES: Final[Mapping[str, int]] = MappingProxyType({"high": 5, "normal": 0, "low": -5})
"""What the words of `/prio` stand for on the scale from -9 to 9."""

_FIRST: Final = re.compile(r"/([A-Za-z]{1,40})[.,:;!]?(?=\s|$)")
_MONEY: Final = re.compile(r"\$?([0-9]{1,7})(?:\.([0-9]{1,2}))?\$?", re.ASCII)
_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,99}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword that was understood."""

    word: Word
    text: str = ""
    """reject: why; answer: the answer; model: its name."""
    number: int = 0
    """prio: from -9 to 9; budget: US cents that the ticket may cost."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """A known keyword with something that it does not take; `usage` is how it is written."""

    word: Word
    usage: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A `/word` that is no keyword."""

    word: str


Said = Keyword | Unclear | Unknown


def parse(text: str) -> Said | None:
    """The keyword at the start of a comment; None where the comment is ordinary text."""
    text = text.strip()
    first = _FIRST.match(text)
    if not first:
        return None
    word = first[1].lower()
    reader = _READERS.get(word)
    return reader(text[first.end() :].strip()) if reader else Unknown(word)


def _prio(rest: str) -> Said:
    value = rest.split(maxsplit=1)[0].lower() if rest else ""
    number = PRIORITIES.get(value)
    if number is None and re.fullmatch("[+-]?[0-9]", value, re.ASCII):
        number = int(value)
    if number is None:
        return Unclear("prio", "/prio high, normal, low or -9 to 9")
    return Keyword("prio", number=number)


def _reject(rest: str) -> Said:
    return Keyword("reject", rest) if rest else Unclear("reject", "/reject and why")


def _answer(rest: str) -> Said:
    return Keyword("answer", rest) if rest else Unclear("answer", "/answer and the answer")


def _budget(rest: str) -> Said:
    money = _MONEY.fullmatch(rest.split(maxsplit=1)[0]) if rest else None
    cents = int(money[1]) * 100 + int((money[2] or "").ljust(2, "0")) if money else 0
    return Keyword("budget", number=cents) if cents else Unclear("budget", "/budget $20")


def _model(rest: str) -> Said:
    name = rest.split(maxsplit=1)[0] if rest else ""
    if not _MODEL.fullmatch(name):
        return Unclear("model", "/model NAME")
    return Keyword("model", name)


_READERS: Final[Mapping[str, Callable[[str], Said]]] = MappingProxyType(
    {
        "hold": lambda _: Keyword("hold"),
        "resume": lambda _: Keyword("resume"),
        "prio": _prio,
        "confirm": lambda _: Keyword("confirm"),
        "reject": _reject,
        "answer": _answer,
        "accept": lambda _: Keyword("accept"),
        "budget": _budget,
        "model": _model,
    }
)

WORDS: Final = tuple(_READERS)
"""The keywords there are, without their slash."""


def keyword_trouble(text: str) -> str:
    """Why a comment that begins like a keyword does nothing; empty where there is no trouble."""
    match parse(text):
        case Unclear(word, usage):
            return f"/{word} was not understood: it is written {usage}"
        case Unknown(word):
            known = ", ".join(f"/{each}" for each in WORDS)
            return f"/{word} is no keyword; there are {known}"
        case _:
            return ""


def keyword_of(event: Event) -> Said | None:
    """The keyword of a person's comment; whether that person may say it is for the caller."""
    if event.kind != "comment" or event.machine:
        return None
    return parse(event.text)


def priority_of(events: Iterable[Event], admins: frozenset[str]) -> int:
    """-9 to 9; 0 where nobody said. The last `/prio` of an admin that can be understood decides.

    `admins` are user ids. An event without one (an older server) is matched by its author.
    """
    priority = 0
    for event in events:
        if (event.user_id or event.author) not in admins:
            continue
        said = keyword_of(event)
        if isinstance(said, Keyword) and said.word == "prio":
            priority = said.number
    return priority


def accepted(events: Iterable[Event], people: People) -> Event | None:
    """The first `/accept` by somebody who may order work; None where nobody has."""
    for event in events:
        if keyword_of(event) == Keyword("accept") and may_order(event, people):
            return event
    return None
