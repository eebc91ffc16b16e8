"""Frozen dataclasses to JSON values and back, by their own type hints.

Keys are the field names in camelCase. Reading is strict: an unknown key, a missing one without a
default or a value of another type is a `CodecProblem` with its path; nothing is guessed.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from colony.core.lines import Json

T = TypeVar("T")


class CodecProblem(ValueError):
    """A JSON value is not of the wanted shape; the text names the place."""

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(f"{place}: {what}")
        self.what, self.place = what, place

    def under(self, step: str) -> CodecProblem:
        """The same problem, seen from one level above."""
        return CodecProblem(self.what, step + self.place)


Reader = Callable[[Json], Any]


def to_json(value: object) -> Json:
    """Any value made of frozen dataclasses, tuples, mappings, enums and scalars."""
    if value is None or type(value) in _PLAIN:
        return typing.cast(Json, value)
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key: to_json(getattr(value, name)) for key, name in _keys(type(value))}
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(each) for each in value]
    if isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"no JSON form for {type(value).__name__}")


_PLAIN: Final = frozenset({bool, int, float, str})


def from_json(kind: type[T], data: Json, path: str = "") -> T:
    """The value of type `kind` that `to_json` made `data` of."""
    try:
        return typing.cast(T, _reader(typing.cast(Any, kind))(data))
    except CodecProblem as problem:
        raise problem.under(path or kind.__name__) from None


@functools.cache
def camel(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


@functools.cache
def _keys(kind: type) -> tuple[tuple[str, str], ...]:
    """JSON key and field name."""
    return tuple((camel(field.name), field.name) for field in dataclasses.fields(kind))


# Types are looked into once: what reads a value of each is kept.


@functools.cache
def _reader(kind: Any) -> Reader:
    origin = typing.get_origin(kind)
    if origin is typing.Union or origin is types.UnionType:
        return _union(typing.get_args(kind))
    if origin is typing.Literal:
        return _literal(typing.get_args(kind))
    if origin is tuple:
        return _tuple(typing.get_args(kind))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(_reader(typing.get_args(kind)[1]))
    if dataclasses.is_dataclass(kind):
        return _dataclass(typing.cast(type, kind))
    return _scalar(kind)


def _union(kinds: tuple[Any, ...]) -> Reader:
    nullable = type(None) in kinds
    readers = [_reader(kind) for kind in kinds if kind is not type(None)]

    def read(data: Json) -> Any:
        if data is None and nullable:
            return None
        problem: CodecProblem | None = None
        for each in readers:
            try:
                return each(data)
            except CodecProblem as error:
                problem = problem or error
        raise problem or CodecProblem("no such value")

    return read


def _literal(words: tuple[Any, ...]) -> Reader:
    def read(data: Json) -> Any:
        if any(data == each and type(data) is type(each) for each in words):
            return data
        raise CodecProblem(f"not one of {', '.join(map(str, words))}")

    return read


def _tuple(kinds: tuple[Any, ...]) -> Reader:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return _sequence(_reader(kinds[0]))
    readers = [_reader(kind) for kind in kinds]

    def read(data: Json) -> Any:
        if isinstance(data, list) and len(data) != len(readers):
            raise CodecProblem(f"not a list of {len(readers)}")
        return _each(readers, data)

    return read


def _sequence(inner: Reader) -> Reader:
    return lambda data: _each(itertools.repeat(inner), data)


def _each(readers: Iterable[Reader], data: Json) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise CodecProblem("not a list")
    values: list[Any] = []
    try:
        for read, each in zip(readers, data, strict=False):
            values.append(read(each))
    except CodecProblem as problem:
        raise problem.under(f"[{len(values)}]") from None
    return tuple(values)


def _mapping(inner: Reader) -> Reader:
    def read(data: Json) -> Any:
        if not isinstance(data, dict):
            raise CodecProblem("not an object")
        values: dict[str, Any] = {}
        for key, each in data.items():
            try:
                values[key] = inner(each)
            except CodecProblem as problem:
                raise problem.under(f".{key}") from None
        return values

    return read


def _dataclass(kind: type) -> Reader:
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    fields = {camel(field.name): field for field in dataclasses.fields(kind)}
    readers = {key: (field.name, _reader(hints[field.name])) for key, field in fields.items()}
    needed = [
        key
        for key, field in fields.items()
        if field.default is missing and field.default_factory is missing
    ]

    def read(data: Json) -> Any:
        if not isinstance(data, dict):
            raise CodecProblem("not an object")
        values: dict[str, Any] = {}
        for key, each in data.items():
            if key not in readers:
                raise CodecProblem(f"unknown key {key!r}")
            name, inner = readers[key]
            try:
                values[name] = inner(each)
            except CodecProblem as problem:
                raise problem.under(f".{key}") from None
        for key in needed:
            if key not in data:
                raise CodecProblem(f"{key!r} is missing")
        return kind(**values)

    return read


def _scalar(kind: Any) -> Reader:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return functools.partial(_enum, kind)
    if kind is float:
        return _float
    if kind is object or kind is Any:
        return lambda data: data

    def read(data: Json) -> Any:
        if type(data) is not kind:
            raise CodecProblem(f"not {getattr(kind, '__name__', kind)}")
        return data

    return read


def _enum(kind: type[enum.Enum], data: Json) -> enum.Enum:
    try:
        return kind(data)
    except ValueError:
        raise CodecProblem(f"no such {kind.__name__}") from None


def _float(data: Json) -> float:
    if not isinstance(data, int | float) or isinstance(data, bool):
        raise CodecProblem("not float")
    if not math.isfinite(data):
        raise CodecProblem("not a finite number")
    return float(data)
