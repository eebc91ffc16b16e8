from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.strict_json import (
    DEPTH_MAX,
    Problems,
    dump_json,
    load_json,
    problems,
    value_problems,
)

BAD = {
    "": "is not JSON",
    "{": "is not JSON",
    "nul": "is not JSON",
    '{"a": 1} x': "is not JSON",
    '{"a": 1, "a": 2}': "the key 'a' stands twice in one object",
    '[{"b": {"a": 1, "a": 1}}]': "the key 'a' stands twice in one object",
    "NaN": "NaN is no JSON number",
    "[-Infinity]": "-Infinity is no JSON number",
    "1e999": "the answer: is not a finite number",
    '{"a": [1e999]}': "a[0]: is not a finite number",
    "9" * 5000: "a whole number has too many digits",
    '{"a": {"b": "\\ud800"}}': "a.b: holds half a character (a lone surrogate)",
    '{"\\udfff": 1}': "holds half a character (a lone surrogate)",
    "[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1): "lists and objects inside each other",
    "[" * 500_000: "lists and objects inside each other",
    '{"a":' * 200_000: "lists and objects inside each other",
    '"' + "x" * (1024 * 1024): "has 1048577 characters, at most 1048576",
    '"a\nb"': "is not JSON (invalid control character",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: ascii(text[:20]))
def test_f58_f74_what_is_no_good_json_is_a_problem_in_one_line(text: str) -> None:
    found = load_json(text)
    assert isinstance(found, Problems)
    assert BAD[text] in found.lines[0]
    assert all(line.isprintable() for line in found.lines)


def test_a_byte_order_mark_is_no_problem() -> None:
    assert load_json('\ufeff{"a": [1, 2.5, "x", null, true]}') == {"a": [1, 2.5, "x", None, True]}


def test_brackets_inside_strings_are_no_depth() -> None:
    text = json.dumps(["[" * 500, '\\"[' * 50])
    assert load_json(text) == json.loads(text)


def test_the_deepest_allowed_value_is_read() -> None:
    text = "[" * DEPTH_MAX + "]" * DEPTH_MAX
    assert not isinstance(load_json(text), Problems)


def test_f58_a_file_cut_at_any_byte_is_a_problem() -> None:
    whole = json.dumps({"a": ["é", {"b": 1.5}], "c": "\\"})
    for end in range(len(whole)):
        assert isinstance(load_json(whole[:end]), Problems)


@pytest.mark.parametrize("text", ['"' + '\\"' * 400_000, '"' * 900_000, "\\" * 900_000])
def test_hostile_texts_are_judged_in_linear_time(text: str) -> None:
    start = time.process_time()
    load_json(text)
    assert time.process_time() - start < 5


def test_a_parsed_value_is_judged_the_same() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert "inside each other" in value_problems(deep)[0]  # type: ignore[arg-type]
    assert value_problems({"x": [math.nan, "\ud800", 10**18]}) == (
        "x[0]: is not a finite number",
        "x[1]: holds half a character (a lone surrogate)",
        "x[2]: is a number too large",
    )


def test_problems_have_an_end() -> None:
    found = problems(f"line {n}" for n in range(1000))
    assert len(found.lines) == 301
    assert found.lines[-1] == "and 700 more problems"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    load_json(text)


@given(JSON)
def test_what_has_no_problem_comes_back_as_it_was(value: object) -> None:
    found = value_problems(value)  # type: ignore[arg-type]
    again = load_json(dump_json(value))  # type: ignore[arg-type]
    assert isinstance(again, Problems) if found else again == value


def test_half_a_character_can_be_written_to_a_file() -> None:
    assert dump_json({"a": "\ud800é"}).encode() == b'{\n "a": "\\ud800\xc3\xa9"\n}\n'
