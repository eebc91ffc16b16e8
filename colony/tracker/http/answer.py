"""What an HTTP answer says: a value, or which error, and whether asking again can help.

What is not understood counts as no answer at all. A page of another program, half a body or an
empty one says nothing about whether a write happened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final, NoReturn

from colony.core.lines import Json, clip
from colony.errors import (
    Busy,
    ColonyError,
    Forbidden,
    Invalid,
    NoAnswer,
    NotAccepted,
    NotFound,
    Refused,
    TooLarge,
)

LINE_MAX: Final = 300
"""Characters shown of what a server says."""

_HALF: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_DIGITS_MAX: Final = 18


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer as it came. Header names are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable answer: 2xx, 304 or 409. `value` is None where there is no body."""

    status: int
    value: Json
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """No usable answer."""

    error: ColonyError
    again: bool
    """Whether the same request may be answered better in a moment."""
    maybe: bool
    """Whether it may have happened all the same."""
    after_s: float = 0.0
    """How long the server asks to be left alone."""


def read(
    raw: Raw, asked: str, *, conditional: bool = False, may_be_empty: bool = False
) -> Answer | Trouble:
    """The meaning of an answer. `asked` is method and path, for the error's line; an object is due
    but where it `may_be_empty`, and 304 answers a `conditional` request only."""
    status = raw.status
    if status == 304 and conditional:
        return Answer(304, None, raw.headers.get("etag", ""))
    if status == 204 and may_be_empty:
        return Answer(204, None)
    if status in (204, 304):
        return silent(asked, f"answered {status}, which holds nothing")
    if 200 <= status < 300 or status == 409:
        return _usable(raw, asked, may_be_empty)
    if status == 429 or status >= 500 or status in (408, 425):
        return _later(raw, asked)
    return _refused(raw, asked)


def silent(asked: str, why: str, *, maybe: bool = True, again: bool = True) -> Trouble:
    """No answer came, or none that can be understood."""
    return Trouble(NoAnswer(f"{asked}: {clip(why, LINE_MAX)}"), again=again, maybe=maybe)


def date_ms(raw: Raw) -> int | None:
    """The server's time when it answered; None where the answer does not say, or was kept."""
    if raw.headers.get("age", "0").strip() != "0":
        return None
    try:
        return int(parsedate_to_datetime(raw.headers["date"]).timestamp() * 1000)
    except (KeyError, ValueError, OverflowError):
        return None


def _usable(raw: Raw, asked: str, may_be_empty: bool) -> Answer | Trouble:
    try:
        value = _json(raw)
    except _NotJson as why:
        return silent(asked, f"answered {raw.status} with {why}")
    if not isinstance(value, dict) and not may_be_empty:
        kind = _JSON_KINDS.get(type(value), "a number")
        return silent(asked, f"answered {raw.status} with {kind}, not an object")
    return Answer(raw.status, value, raw.headers.get("etag", ""))


_JSON_KINDS: Final = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def _later(raw: Raw, asked: str) -> Trouble:
    """It did not go through now. Only a tracker's own word says that nothing happened."""
    code, line = _said(raw)
    after_s = _retry_after_s(raw)
    wait = f", asks to wait {after_s:.0f} s" if after_s else ""
    told = f"{asked}: {_told(raw, line)}{wait}"
    if raw.status == 429 or (raw.status == 503 and code == Busy.code):
        return Trouble(Busy(told), again=True, maybe=False, after_s=after_s)
    return Trouble(NoAnswer(told), again=True, maybe=True, after_s=after_s)


def _refused(raw: Raw, asked: str) -> Trouble:
    _, line = _said(raw)
    told = f"{line} ({raw.status} to {asked})" if line else f"{asked}: {_told(raw, line)}"
    if raw.status == 401:
        return Trouble(NotAccepted(told), again=False, maybe=False)
    if raw.status in (403, 404, 410) and not line:
        # A proxy's or another program's page: no reason to think that a ticket is gone.
        return silent(asked, f"{_told(raw, line)}: no tracker's answer", again=False)
    kind = _KINDS.get(raw.status, Refused if raw.status >= 400 else NoAnswer)
    return Trouble(kind(told), again=False, maybe=False)


_KINDS: Final[Mapping[int, type[ColonyError]]] = {
    403: Forbidden,
    404: NotFound,
    410: NotFound,
    413: TooLarge,
    422: Invalid,
}


def _told(raw: Raw, line: str) -> str:
    """The answer in a few words."""
    return f"answered {raw.status}{f' ({line})' if line else ''}"


def _said(raw: Raw) -> tuple[str, str]:
    """Code and line of an error's body; empty where it is no tracker's."""
    try:
        value = _json(raw)
    except _NotJson:
        return "", ""
    if not isinstance(value, dict):
        return "", ""
    code, line = value.get("code"), value.get("error")
    return (
        code if isinstance(code, str) else "",
        clip(line, LINE_MAX) if isinstance(line, str) else "",
    )


def _retry_after_s(raw: Raw) -> float:
    """Seconds; a date in `Retry-After` is not understood, and counts as none."""
    text = raw.headers.get("retry-after", "").strip()
    return float(text) if re.fullmatch("[0-9]{1,6}", text, re.ASCII) else 0.0


class _NotJson(ValueError):
    """What the body is instead."""


def _json(raw: Raw) -> Json:
    """Any JSON value of the body, without what no program could write down again."""
    kind = raw.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise _NotJson(clip(kind, 40) if kind else "no kind of content named")
    try:
        text = raw.body.decode("utf-8-sig")
        value: Json = json.loads(text, parse_constant=_no_constant, parse_int=_bounded)
    except (ValueError, RecursionError):
        raise _NotJson("what is not JSON, or half of it") from None
    return _whole(value) if _ESCAPED_HALF.search(text) else value


def _whole(value: Json) -> Json:
    """The value with U+FFFD for halves of surrogate pairs, which JSON can hold as escapes."""
    whole: Json = json.loads(_HALF.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    return whole


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _bounded(digits: str) -> int:
    if len(digits) > _DIGITS_MAX:
        raise ValueError("a number with too many digits")
    return int(digits)
