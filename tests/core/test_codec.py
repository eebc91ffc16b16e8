"""Facts go to disk and come back as they were; nothing else is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.codec import CodecProblem, from_json, to_json


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner:
    count: int
    word: Literal["a", "b"] = "a"


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    first_part: Inner
    more: tuple[Inner, ...] = ()
    span: tuple[int, int] | None = None
    cost: float = 0.0
    colour: Colour | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


inners = st.builds(Inner, count=st.integers(), word=st.sampled_from(["a", "b"]))


@given(
    st.builds(
        Outer,
        name=st.text(),
        first_part=inners,
        more=st.lists(inners).map(tuple),
        span=st.none() | st.tuples(st.integers(), st.integers()),
        cost=st.floats(allow_nan=False, allow_infinity=False),
        colour=st.none() | st.just(Colour.RED),
        notes=st.dictionaries(st.text(), st.text()),
    )
)
def test_what_is_written_reads_back(value: Outer) -> None:
    assert from_json(Outer, to_json(value)) == value


GOOD = {"name": "x", "firstPart": {"count": 1}}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": 1}, "Outer.name: not str"),
        ({"firstPart": {"count": True}}, "Outer.firstPart.count: not int"),
        ({"firstPart": {"count": 1, "word": "c"}}, "Outer.firstPart.word: not one of a, b"),
        ({"firstPart": {}}, "Outer.firstPart: 'count' is missing"),
        ({"firstPart": []}, "Outer.firstPart: not an object"),
        ({"extra": 1}, "Outer: unknown key 'extra'"),
        ({"more": {}}, "Outer.more: not a list"),
        ({"more": [{"count": "1"}]}, "Outer.more[0].count: not int"),
        ({"span": [1]}, "Outer.span: not a list of 2"),
        ({"cost": float("nan")}, "Outer.cost: not a finite number"),
        ({"cost": "1"}, "Outer.cost: not float"),
        ({"colour": "blue"}, "Outer.colour: no such Colour"),
        ({"notes": {"a": 1}}, "Outer.notes.a: not str"),
    ],
)
def test_anything_else_is_a_problem_with_its_path(change: dict[str, object], told: str) -> None:
    with pytest.raises(CodecProblem) as caught:
        from_json(Outer, {**GOOD, **change})  # type: ignore[arg-type]
    assert str(caught.value) == told


def test_a_value_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError):
        to_json(object())
