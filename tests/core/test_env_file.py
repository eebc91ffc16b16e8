"""`.env` files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.env_file import BadLine, Entry, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A=b", "b"),
        ("A = b c ", "b c"),
        ("export A=b", "b"),
        ("A=", ""),
        ('A="b # c"', "b # c"),
        ("A='b' # said", "b"),
        ("A=b # said", "b"),
        ("A=b#c", "b#c"),
        ("A=# nothing", ""),
        ("\ufeffA=b\r\n", "b"),
        ("A=$HOME", "$HOME"),
    ],
)
def test_a_value(text: str, value: str) -> None:
    assert parse(text) == {"A": Entry(value, 1)}


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("\n\nno sign", 3, "not of the form"),
        ("A=1\n1B=2", 2, "not of the form"),
        ("A='b", 1, "A: the quotes"),
        ('A="b" c', 1, "A: the quotes"),
        ("A=1\n# x\nA=2", 3, "A is set twice (first on line 1)"),
        ("=x", 1, "not of the form"),
    ],
)
def test_a_bad_line_is_named(text: str, line: int, why: str) -> None:
    with pytest.raises(BadLine) as caught:
        parse(text)
    assert caught.value.line == line
    assert why in str(caught.value)


@given(text=st.text(st.characters(exclude_categories=())))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        entries = parse(text)
    except BadLine as bad:
        assert bad.line >= 1
    else:
        assert all(name.isidentifier() for name in entries)


@given(text=st.text("ABC=# 'x\"\n"))
def test_a_long_line_is_no_trouble(text: str) -> None:
    parse("# " + "x" * 1_000_000)
    try:
        parse(text)
    except BadLine:
        return
