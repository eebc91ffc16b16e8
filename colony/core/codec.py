"""Frozen dataclasses to JSON values and back, by their own type hints.

Keys are the field names in camelCase. Reading is strict: an unknown key, a missing one without a
default or a value of another type is a `CodecProblem` with its path; nothing is guessed.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from colony.core.lines import Json

T = TypeVar("T")


class CodecProblem(ValueError):
    """A JSON value is not of the wanted shape; the text names the place."""


def to_json(value: object) -> Json:
    """Any value made of frozen dataclasses, tuples, mappings, enums and scalars."""
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            camel(field.name): to_json(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(each) for each in value]
    raise TypeError(f"no JSON form for {type(value).__name__}")


def from_json(kind: type[T], data: Json, path: str = "") -> T:
    """The value of type `kind` that `to_json` made `data` of."""
    return typing.cast(T, _read(kind, data, path or kind.__name__))


@functools.cache
def camel(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


@functools.cache
def _shape(kind: type) -> dict[str, tuple[str, Any, bool]]:
    """JSON key -> (field name, type, needed)."""
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    return {
        camel(field.name): (
            field.name,
            hints[field.name],
            field.default is missing and field.default_factory is missing,
        )
        for field in dataclasses.fields(kind)
    }


def _read(kind: Any, data: Json, path: str) -> Any:
    origin = typing.get_origin(kind)
    if origin is typing.Union or origin is types.UnionType:
        return _read_union(typing.get_args(kind), data, path)
    if origin is typing.Literal:
        if any(data == each and type(data) is type(each) for each in typing.get_args(kind)):
            return data
        raise CodecProblem(f"{path}: not one of {', '.join(map(str, typing.get_args(kind)))}")
    if origin is tuple:
        return _read_tuple(typing.get_args(kind), data, path)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise CodecProblem(f"{path}: not an object")
        inner = typing.get_args(kind)[1]
        return {key: _read(inner, each, f"{path}.{key}") for key, each in data.items()}
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(typing.cast(type, kind), data, path)
    return _read_scalar(kind, data, path)


def _read_union(kinds: tuple[Any, ...], data: Json, path: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    problem: CodecProblem | None = None
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _read(kind, data, path)
        except CodecProblem as error:
            problem = problem or error
    raise problem or CodecProblem(f"{path}: no such value")


def _read_tuple(kinds: tuple[Any, ...], data: Json, path: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise CodecProblem(f"{path}: not a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], each, f"{path}[{at}]") for at, each in enumerate(data))
    if len(kinds) != len(data):
        raise CodecProblem(f"{path}: not a list of {len(kinds)}")
    return tuple(
        _read(kind, each, f"{path}[{at}]")
        for at, (kind, each) in enumerate(zip(kinds, data, strict=True))
    )


def _read_dataclass(kind: type, data: Json, path: str) -> Any:
    if not isinstance(data, dict):
        raise CodecProblem(f"{path}: not an object")
    shape = _shape(kind)
    for key in data:
        if key not in shape:
            raise CodecProblem(f"{path}: unknown key {key!r}")
    values: dict[str, Any] = {}
    for key, (name, hint, needed) in shape.items():
        if key in data:
            values[name] = _read(hint, data[key], f"{path}.{key}")
        elif needed:
            raise CodecProblem(f"{path}: {key!r} is missing")
    return kind(**values)


def _read_scalar(kind: Any, data: Json, path: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(data)
        except ValueError:
            raise CodecProblem(f"{path}: no such {kind.__name__}") from None
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        if not math.isfinite(data):
            raise CodecProblem(f"{path}: not a finite number")
        return float(data)
    if kind is object or kind is Any:
        return data
    if type(data) is not kind:
        raise CodecProblem(f"{path}: not {getattr(kind, '__name__', kind)}")
    return data
