from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import REPORT_CHECK, VERDICT_CHECK

from colony.core.schema import compiled
from colony.errors import UsageProblem

ONE_OF_EACH: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"$ref": "#/$defs/word"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "colour": {"enum": ["red", "blue"]},
        "kind": {"const": "box"},
        "parts": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {
                "type": "object",
                "description": "each needs a name",
                "required": ["n"],
            },
        },
        "code": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 4},
        "odd": {"multipleOf": 2},
    },
    "$defs": {"word": {"type": "string", "title": "one word", "pattern": "^\\w+$", "minLength": 1}},
}

TOLD = [
    ({}, ["the answer: 'name' is missing"]),
    ([], ["the answer: must be an object, is a list"]),
    ({"name": "a b"}, ["name: must be one word"]),
    ({"name": ""}, ["name: must be one word", "name: is empty"]),
    ({"name": 3}, ["name: must be text, is a whole number"]),
    ({"name": "a", "size": 0}, ["size: is 0, at least 1"]),
    ({"name": "a", "size": 10}, ["size: is 10, at most 9"]),
    ({"name": "a", "size": True}, ["size: must be a whole number, is true or false"]),
    ({"name": "a", "size": 1.5}, ["size: must be a whole number, is a number"]),
    ({"name": "a", "colour": "green"}, ['colour: is "green", must be one of: red, blue']),
    ({"name": "a", "colour": {}}, ["colour: is an object, must be one of: red, blue"]),
    ({"name": "a", "kind": "bag"}, ['kind: is "bag", must be box']),
    ({"name": "a", "parts": []}, ["parts: has 0 entries, at least 1"]),
    (
        {"name": "a", "parts": [{"n": 1}, {}, {"n": 1}]},
        ["parts: has 3 entries, at most 2", "parts[1]: 'n' is missing (each needs a name)"],
    ),
    ({"name": "a", "code": "x"}, ["code: has 1 characters, at least 2"]),
    ({"name": "a", "code": "xxxxx"}, ["code: has 5 characters, at most 4"]),
    ({"name": "a", "code": "XX"}, ["code: does not match ^[a-z]+$"]),
    ({"name": "a", "odd": 3}, ["odd: does not fit the schema (3 is not a multiple of 2)"]),
    (
        {"name": "a", "more": 1, "mo\nre": 2},
        [
            f"the answer: unknown key '{key}' (known: name, size, colour, kind, parts, code, odd)"
            for key in ("more", "mo re")
        ],
    ),
    (
        {"name": "\ud800", "size": float("nan")},
        [
            "name: holds half a character (a lone surrogate)",
            "size: is not a finite number",
            "name: must be one word",
            "size: must be a whole number, is a number",
        ],
    ),
]


@pytest.mark.parametrize(("value", "lines"), TOLD, ids=[str(lines[0])[:40] for _, lines in TOLD])
def test_problems_are_told_in_a_persons_words(value: Any, lines: list[str]) -> None:
    assert list(compiled(ONE_OF_EACH, "x.json")(value)) == lines


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "a schema must be an object"),
        ({"type": "thing"}, "'thing' is not valid"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "leads nowhere in this file"),
        ({"$ref": "https://elsewhere.example/schema.json"}, "leads nowhere in this file"),
        ({"$ref": "other.json"}, "leads nowhere in this file"),
        ({"pattern": "("}, "the pattern ( is broken"),
        ({"minimum": float("nan")}, "not a finite number"),
    ],
)
def test_a_broken_schema_is_one_clear_line(schema: Any, said: str) -> None:
    with pytest.raises(UsageProblem, match=r"^mine\.json: ") as raised:
        compiled(schema, "mine.json")
    assert said in raised.value.line


def test_a_value_too_deep_is_never_walked_by_the_schema() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = {"a": deep}
    check = compiled({"additionalProperties": {"$ref": "#"}}, "x.json")
    assert check(deep) == ("the answer: more than 32 lists and objects inside each other",)


def test_properties_may_be_called_like_keywords() -> None:
    check = compiled({"properties": {"$ref": {"type": "string"}, "pattern": {}}}, "x.json")
    assert check({"$ref": 3}) == ("$ref: must be text, is a whole number",)


def test_a_schema_without_end_is_told_at_its_first_use() -> None:
    check = compiled({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "x.json")
    with pytest.raises(UsageProblem, match="refers to itself"):
        check({})


ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("test"), inner),
    max_leaves=10,
)


@given(ANYTHING)
def test_no_value_raises_and_none_of_these_fits(value: Any) -> None:
    for check in (REPORT_CHECK, VERDICT_CHECK):
        assert check(value)
