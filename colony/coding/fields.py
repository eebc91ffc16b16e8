"""One line of a stream as a JSON object, and its fields by type: a wrong type is no field.

Everything in it is hostile: text that cannot be written and numbers out of all size stop here.
"""

from __future__ import annotations

import json
import math
import re
from typing import Final

from colony.core.lines import Json, clip
from colony.core.turn import COUNT_MAX

LINE_MAX: Final = 64 * 1024 * 1024
"""Characters; a longer line is not parsed. Answers of a megabyte are ordinary."""
WORD_MAX: Final = 300
"""Characters kept of a word or a detail."""

SYNTHETIC: Final = "<synthetic>"
"""The model named in a message that the program itself wrote."""

Object = dict[str, Json]

_UNWRITABLE: Final = re.compile("[\x00\ud800-\udfff]")


def parse_line(line: str) -> Object | None:
    """A line as a JSON object with finite numbers and text that can be written; else None."""
    if len(line) > LINE_MAX:
        return None
    try:
        value = json.loads(line)
        if not isinstance(value, dict):
            return None
        return {_clean(key): _cleaned(each) for key, each in value.items()}
    except (ValueError, RecursionError):
        return None


def text(event: Object, key: str) -> str:
    """The text at `key`; empty where there is none."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def word(event: Object, key: str) -> str:
    """The text at `key` as one printable line of at most `WORD_MAX` characters."""
    return clip(text(event, key), WORD_MAX)


def inner(event: Object, key: str) -> Object:
    """The object at `key`; an empty one where there is none."""
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def blocks(message: Object) -> list[Object]:
    """The content of an `assistant` or `user` message."""
    content = inner(message, "message").get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def blocks_text(message: Object) -> str:
    """The words of a message, without what it calls or got."""
    return " ".join(text(each, "text") for each in blocks(message) if text(each, "type") == "text")


def number(event: Object, key: str) -> float | None:
    """The number at `key`; a boolean is none."""
    value = event.get(key)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def whole(event: Object, key: str) -> int | None:
    """The whole number at `key`, cut to plus or minus `COUNT_MAX`; a boolean is none."""
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return max(-COUNT_MAX, min(value, COUNT_MAX))


def _cleaned(value: Json) -> Json:
    """`value` with text that can be encoded and numbers that are finite and of a sane size."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {_clean(key): _cleaned(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    if isinstance(value, int) and abs(value) > 2**63:
        raise ValueError("a number out of all size")
    return value


def _clean(value: str) -> str:
    """NUL and lone surrogates become U+FFFD: they cannot be stored or sent everywhere."""
    return _UNWRITABLE.sub("\ufffd", value)
