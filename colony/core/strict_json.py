"""JSON from outside, read strictly: whatever is wrong with it is a problem, never an exception.

Paths are written as people write them: `issues[0].subject`; the whole value is `the answer`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from colony.core.lines import Json, clip

SIZE_MAX: Final = 1024 * 1024
"""Characters in a JSON text."""
DEPTH_MAX: Final = 32
"""Lists and objects inside each other."""
SHOWN_MAX: Final = 300
"""Problems that are told one by one."""
WHOLE: Final = "the answer"
"""What the whole value is called in a problem."""

TOO_DEEP: Final = f"{WHOLE}: more than {DEPTH_MAX} lists and objects inside each other"

_INT_DIGITS_MAX: Final = 18
SAFE: Final = 2**53 - 1
"""The largest whole number that every JSON program holds exactly."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Problems:
    """Why a value cannot be used: one line each, never empty."""

    lines: tuple[str, ...]


Check = Callable[[Json], tuple[str, ...]]
"""A value's problems against a schema, one line each; empty: it fits."""


def problems(lines: Iterable[str]) -> Problems:
    """The lines as Problems: each once, short enough to print, and not without end."""
    each = tuple(dict.fromkeys(lines))
    shown = tuple(clip(line, 300) for line in each[:SHOWN_MAX])
    more = len(each) - len(shown)
    return Problems((*shown, f"and {more} more problems") if more else shown)


def load_json(text: str, limit: int = SIZE_MAX) -> Json | Problems:
    """The value of a JSON text.

    Refused: more than `limit` characters, more than `DEPTH_MAX` levels, a key twice in one
    object, NaN and infinities, numbers that no program holds exactly, half a surrogate pair.
    """
    if len(text) > limit:
        return problems([f"{WHOLE}: has {len(text)} characters, at most {limit}"])
    if _depth(text) > DEPTH_MAX:
        return problems([TOO_DEEP])
    try:
        value: Json = json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=_bounded_int,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        return problems([f"{WHOLE}: is not JSON ({error.msg.lower()}, {place})"])
    except ValueError as error:
        return problems([f"{WHOLE}: {error}"])
    found = value_problems(value)
    return problems(found) if found else value


def dump_json(value: Json) -> str:
    """A JSON text that any UTF-8 file can hold; half surrogate pairs are written as escapes.

    `value` is one that `value_problems` finds nothing in, or that was parsed from JSON: NaN is
    written as it came, and refused by `load_json`.
    """
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"


def json_sha256(value: Json) -> str:
    """Of the text that `dump_json` writes, so that it can be had from the value alone."""
    return hashlib.sha256(dump_json(value).encode()).hexdigest()


def value_problems(value: Json) -> tuple[str, ...]:
    """What is wrong with a value that was parsed elsewhere, whatever its shape should be."""
    # Nearly every value is sound, and naming each place costs more than looking at it.
    return () if _is_sound(value) else _named_problems(value)


def _is_sound(value: Json) -> bool:
    level = [value]
    for _ in range(DEPTH_MAX):
        inner: list[Json] = []
        for each in level:
            if type(each) is str:
                if not each.isascii() and _SURROGATE.search(each):
                    return False
            elif isinstance(each, dict):
                inner.extend(each)
                inner.extend(each.values())
            elif isinstance(each, list):
                inner.extend(each)
            elif _scalar_problem(each):
                return False
        if not inner:
            return True
        level = inner
    return not any(isinstance(each, list | dict) or _scalar_problem(each) for each in level)


def _named_problems(value: Json) -> tuple[str, ...]:
    found: list[str] = []
    waiting: list[tuple[Json, str, int]] = [(value, "", 1)]
    while waiting:
        each, path, depth = waiting.pop()
        if isinstance(each, list | dict):
            if depth > DEPTH_MAX:
                return (TOO_DEEP,)
            waiting.extend(reversed([(inner, at, depth + 1) for inner, at in _inside(each, path)]))
        problem = _scalar_problem(each)
        if problem:
            found.append(f"{path or WHOLE}: {problem}")
    return tuple(found)


def step_into(path: str, key: str | int) -> str:
    """The path of what lies under `key` at `path`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    name = clip(key, 60)
    return f"{path}.{name}" if path else name


def _depth(text: str) -> int:
    """Levels of a JSON text, counted without recursion; strings are skipped."""
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest


def _inside(value: list[Json] | dict[str, Json], path: str) -> Iterator[tuple[Json, str]]:
    if isinstance(value, list):
        yield from ((each, step_into(path, at)) for at, each in enumerate(value))
        return
    for key, each in value.items():
        if _SURROGATE.search(key):
            yield key, step_into(path, key)
        yield each, step_into(path, key)


def _scalar_problem(value: Json) -> str | None:
    if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
        return "holds half a character (a lone surrogate)"
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a finite number"
    if isinstance(value, int) and abs(value) >= 10**_INT_DIGITS_MAX:
        return "is a number too large"
    return None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"the key '{clip(key, 60)}' stands twice in one object")
        out[key] = value
    return out


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _bounded_int(digits: str) -> int:
    if len(digits.lstrip("-")) > _INT_DIGITS_MAX:
        raise ValueError("a whole number has too many digits")
    return int(digits)
