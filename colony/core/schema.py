"""A value held against a JSON Schema (2020-12), its problems told in a person's words.

The words of a schema are used where they say it best: `title` of a schema with a `pattern` says
what the text must be, `description` of an object says what each of them needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from colony.core.lines import Json, clip
from colony.core.strict_json import TOO_DEEP, WHOLE, Check, step_into, value_problems
from colony.errors import UsageProblem

_KINDS: Final = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}


def compiled(schema: Json, name: str) -> Check:
    """A check against `schema`, which the file `name` holds.

    Raises UsageProblem when the schema is broken. Nothing is ever fetched: a reference leads
    into the schema itself (`#/…`) or the schema is broken.
    """
    broken = _brokenness(schema)
    if broken:
        raise UsageProblem(f"{name}: {clip(broken, 300)}")
    validator = Draft202012Validator(cast(dict[str, Any], schema))

    def check(value: Json) -> tuple[str, ...]:
        found = value_problems(value)
        if found == (TOO_DEEP,):
            return found
        try:
            return tuple(dict.fromkeys([*found, *_lines(validator.iter_errors(value))]))
        except RecursionError as error:
            raise UsageProblem(f"{name}: a schema that refers to itself without end") from error

    return check


def _brokenness(schema: Json) -> str | None:
    """Why a schema cannot be used, in one line."""
    if not isinstance(schema, dict):
        return "a schema must be an object"
    found = value_problems(schema)
    if found:
        return found[0]
    for key, value in _keywords(schema):
        if key in ("$ref", "$dynamicRef") and not _leads_inside(schema, value):
            return f"the reference {value} leads nowhere in this file"
        if key == "pattern" and isinstance(value, str):
            try:
                re.compile(value)
            except re.error as error:
                return f"the pattern {value} is broken: {error}"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message
    return None


def _keywords(schema: Json) -> Iterator[tuple[str, Json]]:
    """Every key of every object with its value, however deep."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield key, value
            yield from _keywords(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _keywords(value)


def _leads_inside(schema: Json, reference: Json) -> bool:
    if not isinstance(reference, str):
        return True  # a property of that name
    here = schema
    for step in reference.removeprefix("#").split("/")[1:]:
        if not isinstance(here, dict) or step not in here:
            return False
        here = here[step]
    return reference == "#" or reference.startswith("#/")


def _lines(errors: Iterable[ValidationError]) -> Iterator[str]:
    """One line a problem, in the schema's own order."""
    for error in errors:
        place = _place(error)
        for problem in _told(error):
            yield f"{place}: {problem}"


def _place(error: ValidationError) -> str:
    path = ""
    for key in error.absolute_path:
        path = step_into(path, key)
    return path or WHOLE


def _told(error: ValidationError) -> list[str]:
    """The problems that one error of the validator holds."""
    words = _WORDS.get(str(error.validator))
    if words is not None:
        return words(error)
    return [f"does not fit the schema ({clip(error.message, 160)})"]


def _missing(error: Any) -> list[str]:
    """jsonschema gives one error for each missing key, and names it only in its message."""
    hint = _schema_of(error).get("description")
    wanted = [key for key in error.validator_value if key not in error.instance]
    told = next((key for key in wanted if error.message.startswith(repr(key))), wanted[0])
    return [f"'{told}' is missing" + (f" ({hint})" if hint else "")]


def _unknown(error: Any) -> list[str]:
    known = list(_schema_of(error).get("properties", {}))
    extra = [key for key in error.instance if key not in known]
    return [f"unknown key '{clip(key, 60)}' (known: {', '.join(known)})" for key in extra]


def _wrong_kind(error: Any) -> list[str]:
    wanted = error.validator_value
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return [f"must be {' or '.join(_KINDS[name] for name in names)}, is {_kind_of(error.instance)}"]


def _not_listed(error: Any) -> list[str]:
    allowed = ", ".join(str(each) for each in error.validator_value)
    return [f"is {_quoted(error.instance)}, must be one of: {allowed}"]


def _not_like(error: Any) -> list[str]:
    title = _schema_of(error).get("title")
    return [f"must be {title}" if title else f"does not match {error.validator_value}"]


def _sized(unit: str, bound: str) -> Callable[[Any], list[str]]:
    def words(error: Any) -> list[str]:
        return [f"has {len(error.instance)} {unit}, {bound} {error.validator_value}"]

    return words


def _too_short(error: Any) -> list[str]:
    if not error.instance:
        return ["is empty"]
    return [f"has {len(error.instance)} characters, at least {error.validator_value}"]


_WORDS: Final[Mapping[str, Callable[[Any], list[str]]]] = {
    "required": _missing,
    "additionalProperties": _unknown,
    "type": _wrong_kind,
    "enum": _not_listed,
    "const": lambda error: [f"is {_quoted(error.instance)}, must be {error.validator_value}"],
    "pattern": _not_like,
    "minLength": _too_short,
    "maxLength": _sized("characters", "at most"),
    "minItems": _sized("entries", "at least"),
    "maxItems": _sized("entries", "at most"),
    "minimum": lambda error: [f"is {error.instance}, at least {error.validator_value}"],
    "maximum": lambda error: [f"is {error.instance}, at most {error.validator_value}"],
}


def _schema_of(error: Any) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _kind_of(value: object) -> str:
    kinds = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array"}
    if value is None:
        return "null"
    return _KINDS[kinds.get(type(value), "object")]


def _quoted(value: object) -> str:
    return f'"{clip(value, 60)}"' if isinstance(value, str) else _kind_of(value)
