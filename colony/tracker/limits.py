"""What the tracker takes: every value from outside is made storable here, or refused.

Texts keep their words: only NUL and halves of surrogate pairs, which no database holds, become
U+FFFD. Invalid and TooLarge name the field.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from colony.core.ticket import NAME_PATTERN, ROLES, STATES, SUBJECT_MAX, TEXT_MAX, Ref, State
from colony.errors import Invalid, NotFound, TooLarge

USER_MAX: Final = 100
"""Characters in a user's name."""
KEY_MAX: Final = 255
"""Characters in an idempotency key."""
SOURCE_MAX: Final = 300
"""Characters in a source."""

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_BIGGEST: Final = 2**63 - 1
NUMBER_MAX: Final = 999_999_999
"""The largest number of a ticket, and of what a record counts."""


def clean(value: str) -> str:
    """The text as a database holds it."""
    return _UNSTORABLE.sub("\ufffd", value)


def text(value: str, field: str) -> str:
    """A summary, comment or state text."""
    clean_ = clean(value)
    size = len(clean_.encode())
    if size > TEXT_MAX:
        raise TooLarge(f"{field}: {size} bytes, at most {TEXT_MAX}")
    return clean_


def subject(value: str) -> str:
    """One line: what follows a line break is set behind a space."""
    parts = (part.strip() for part in clean(value).splitlines())
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
    """A name that can be made. It stands in addresses, and must come back from there as it was."""
    if not value.strip():
        raise Invalid("user: empty")
    if not value.strip("."):
        raise Invalid("user: dots alone are no name")
    return _line(value, "user", USER_MAX)


def is_project(value: str) -> bool:
    return re.fullmatch(NAME_PATTERN, value, re.ASCII) is not None


def project(value: str) -> str:
    """The name of a project that may be made."""
    if not is_project(value):
        raise Invalid("project: small letters, digits, dots and dashes only, at most 64")
    return value


def no_project(name: str) -> NotFound:
    return NotFound(f"there is no project {name[:64]!a}")


def may_exist(ref: Ref) -> bool:
    """Whether a ticket can have this name."""
    return is_project(ref.project) and 0 < ref.number <= NUMBER_MAX


def need_possible(ref: Ref) -> None:
    """NotFound: no ticket can have this name."""
    if not may_exist(ref):
        raise NotFound("no such ticket")


def role(value: str | None) -> None:
    """Invalid: there is no such role. None takes one away."""
    if value is not None and value not in ROLES:
        raise Invalid(f"role: {', '.join(ROLES[:-1])} or {ROLES[-1]}")


def states(asked: Collection[State] | None) -> None:
    """Invalid: one of those asked for is no state."""
    if asked is not None and not set(asked) <= set(STATES):
        raise Invalid("state: no such state")


def integer(value: int) -> int:
    """The nearest integer that a database holds."""
    return max(-_BIGGEST, min(value, _BIGGEST))


def _line(value: str, field: str, longest: int) -> str:
    if not value.isprintable():
        raise Invalid(f"{field}: holds a character that cannot be printed")
    if len(value) > longest:
        raise TooLarge(f"{field}: {len(value)} characters, at most {longest}")
    return value
