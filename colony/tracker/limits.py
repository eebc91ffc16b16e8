"""What the tracker takes: every value from outside is made storable here, or refused.

Texts keep their words: only NUL and halves of surrogate pairs, which no database holds, become
U+FFFD. Invalid and TooLarge name the field.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Final

from colony.core.lines import Json, printable
from colony.core.records import TAIL_MAX, HostRecord, SessionRecord
from colony.core.strict_json import WHOLE, value_problems
from colony.core.ticket import NAME_PATTERN, SUBJECT_MAX, TEXT_MAX, Ref
from colony.errors import Invalid, TooLarge

USER_MAX: Final = 100
"""Characters in a user's name."""
KEY_MAX: Final = 255
"""Characters in an idempotency key."""
SOURCE_MAX: Final = 300
"""Characters in a source."""

WORD_MAX: Final = 300
"""Characters in a word of a record: a phase, a step, an outcome."""
RECORD_MAX: Final = 512 * 1024
"""Characters of a report, a verdict or a host's reading, as JSON."""

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_NAME: Final = re.compile(rf"(?!\.{{1,2}}\Z)[^/\\\ufffd]{{1,{WORD_MAX}}}")
_BIGGEST: Final = 2**63 - 1
_EXACT: Final = 10**18
"""Whole numbers below it are what JSON from outside may hold (`core.strict_json`)."""
_NUMBER_MAX: Final = 999_999_999


def text(value: str, field: str) -> str:
    """A summary, comment or state text."""
    clean = _UNSTORABLE.sub("\ufffd", value)
    size = len(clean.encode())
    if size > TEXT_MAX:
        raise TooLarge(f"{field}: {size} bytes, at most {TEXT_MAX}")
    return clean


def subject(value: str) -> str:
    """One line: what follows a line break is set behind a space."""
    parts = (part.strip() for part in _UNSTORABLE.sub("\ufffd", value).splitlines())
    line = " ".join(part for part in parts if part)
    if not line:
        raise Invalid("subject: empty")
    if len(line) > SUBJECT_MAX:
        raise TooLarge(f"subject: {len(line)} characters, at most {SUBJECT_MAX}")
    return line


def source(value: str) -> str:
    return _line(value, "source", SOURCE_MAX)


def key(value: str) -> str:
    if not value:
        raise Invalid("Idempotency-Key: empty")
    return _line(value, "Idempotency-Key", KEY_MAX)


def user(value: str) -> str:
    if not value.strip():
        raise Invalid("user: empty")
    return _line(value, "user", USER_MAX)


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
        if not 0 <= getattr(record, name) <= _NUMBER_MAX:
            raise Invalid(f"{name}: must be a count")
    for name in ("quota", "memory", "disk", "iteration"):
        _record(getattr(record, name), name)
    return record


def tail(value: str) -> str:
    """The last `TAIL_MAX` bytes, cut between characters."""
    clean = _UNSTORABLE.sub("\ufffd", value).encode()
    return clean[-TAIL_MAX:].decode("utf-8", "ignore")


def _is_name(value: str) -> bool:
    """Whether a record can be called that: it stands in addresses, and must come back as it was."""
    return _NAME.fullmatch(value) is not None and value.isprintable() and not value.isspace()


def _word(value: str) -> str:
    return printable(_UNSTORABLE.sub("\ufffd", value))[:WORD_MAX]


def _record(value: Json, field: str) -> None:
    trouble = value_problems(value)
    if trouble:
        line = trouble[0]
        inside = not line.startswith((f"{WHOLE}:", "["))
        raise Invalid(f"{field}{'.' if inside else ''}{line.removeprefix(WHOLE)}")
    size = 0 if value is None else len(json.dumps(value))
    if size > RECORD_MAX:
        raise TooLarge(f"{field}: {size} characters, at most {RECORD_MAX}")


def is_project(value: str) -> bool:
    return re.fullmatch(NAME_PATTERN, value, re.ASCII) is not None


def project(value: str) -> str:
    """The name of a project that may be made."""
    if not is_project(value):
        raise Invalid("project: small letters, digits, dots and dashes only, at most 64")
    return value


def may_exist(ref: Ref) -> bool:
    """Whether a ticket can have this name."""
    return is_project(ref.project) and 0 < ref.number <= _NUMBER_MAX


def integer(value: int) -> int:
    """The nearest integer that a database holds."""
    return max(-_BIGGEST, min(value, _BIGGEST))


def _line(value: str, field: str, longest: int) -> str:
    if not value.isprintable():
        raise Invalid(f"{field}: holds a character that cannot be printed")
    if len(value) > longest:
        raise TooLarge(f"{field}: {len(value)} characters, at most {longest}")
    return value
