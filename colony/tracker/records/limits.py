"""What the tracker takes of the records that hosts tell: cut to size, or refused by their field."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Final

from colony.core.lines import Json, printable
from colony.core.records import TAIL_MAX, HostRecord, SessionRecord
from colony.core.strict_json import WHOLE, value_problems
from colony.errors import Invalid, TooLarge
from colony.tracker.limits import NUMBER_MAX, clean

WORD_MAX: Final = 300
"""Characters in a word of a record: a phase, a step, an outcome."""
RECORD_MAX: Final = 512 * 1024
"""Characters of a report, a verdict or a host's reading, as JSON."""

_NAME: Final = re.compile(rf"(?!\.{{1,2}}\Z)[^/\\\ufffd]{{1,{WORD_MAX}}}")
_EXACT: Final = 10**18
"""Whole numbers below it are what JSON from outside may hold (`core.strict_json`)."""


def session(record: SessionRecord) -> SessionRecord:
    """What a host tells of a session, cut to size: news are shown, never decided on."""
    if not _is_name(record.id):
        raise Invalid("session: no name of a session")
    if not math.isfinite(record.cost_usd) or record.cost_usd < 0:
        raise Invalid("costUsd: must be a number of dollars")
    for name in ("token", "started_ms", "ended_ms"):
        value = getattr(record, name)
        if value is not None and abs(value) >= _EXACT:
            raise Invalid(f"{name}: a number too large")
    _record(record.report, "report")
    _record(record.verdict, "verdict")
    return replace(
        record,
        host=_word(record.host),
        account=_word(record.account),
        phase=_word(record.phase),
        step=_word(record.step),
        last_tool=_word(record.last_tool),
        outcome=_word(record.outcome),
    )


def host(record: HostRecord) -> HostRecord:
    """What a host tells of itself."""
    if not _is_name(record.name):
        raise Invalid("host: no name of a host")
    for name in ("slots", "running"):
        if not 0 <= getattr(record, name) <= NUMBER_MAX:
            raise Invalid(f"{name}: must be a count")
    for name in ("quota", "memory", "disk", "iteration"):
        _record(getattr(record, name), name)
    return record


def tail(value: str) -> str:
    """The last `TAIL_MAX` bytes, cut between characters."""
    said = clean(value).encode()
    return said[-TAIL_MAX:].decode("utf-8", "ignore")


def _is_name(value: str) -> bool:
    """Whether a record can be called that: it stands in addresses, and must come back as it was."""
    return _NAME.fullmatch(value) is not None and value.isprintable() and not value.isspace()


def _word(value: str) -> str:
    return printable(clean(value))[:WORD_MAX]


def _record(value: Json, field: str) -> None:
    trouble = value_problems(value)
    if trouble:
        line = trouble[0]
        inside = not line.startswith((f"{WHOLE}:", "["))
        raise Invalid(f"{field}{'.' if inside else ''}{line.removeprefix(WHOLE)}")
    size = 0 if value is None else len(json.dumps(value))
    if size > RECORD_MAX:
        raise TooLarge(f"{field}: {size} characters, at most {RECORD_MAX}")
