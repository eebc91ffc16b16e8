"""Quoting: no text leaves its fence, and no quote outgrows its room."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.brief.quote import GAP, SMALLEST, clean, code, cut, fence, quote, within

HOSTILE = st.text(alphabet="`~ \t\n\r#x{}%é😀\x00\x1b\x85\ud800\u2028", max_size=300)


def closing_line(lines: list[str]) -> int:
    """Where CommonMark ends the fence that the first line opens."""
    opened = re.match("`{3,}", lines[0])
    assert opened
    for number, line in enumerate(lines[1:], 1):
        if re.fullmatch(rf" {{0,3}}`{{{len(opened[0])},}}[ \t]*", line):
            return number
    raise AssertionError("never closed")


@given(HOSTILE)
def test_no_text_closes_its_own_fence(text: str) -> None:
    lines = re.split("\r\n|\n|\r", fence(text))
    assert closing_line(lines) == len(lines) - 1


@given(HOSTILE, st.integers(0, 900))
def test_a_quote_keeps_to_its_room_and_can_be_sent(text: str, room: int) -> None:
    quoted = quote(text * 9, room, "`colony ticket show shop 3` shows them")
    assert len(quoted) <= max(room, SMALLEST)
    quoted.encode("utf-8")
    assert "\x00" not in quoted
    lines = quoted.split("\n")
    assert closing_line(lines) >= len(lines) - 2


def test_what_cannot_be_passed_on_is_replaced_and_said() -> None:
    quoted = quote("a\x00b\ud83dc\x1b[31m", 2_000, "")
    assert "a\ufffdb\ufffdc\ufffd[31m" in quoted
    assert quoted.endswith("(3 places that cannot be passed on were replaced.)")


def test_a_clean_text_gets_no_note() -> None:
    assert quote("fine\r\ntext\ttab", 2_000, "") == "```text\nfine\ntext\ttab\n```"


def test_the_middle_of_a_long_text_is_left_out_and_said() -> None:
    quoted = quote("A" * 500_000 + "Z" * 500_000, 5_000, "`colony ticket show shop 3` shows them")
    assert len(quoted) <= 5_000
    assert re.search(r"A\n" + re.escape(GAP) + r"\nZ", quoted)
    left_out = re.search(r"\(([\d,]+) characters are left out", quoted)
    assert left_out
    kept = quoted.count("A") + quoted.count("Z")
    assert int(left_out[1].replace(",", "")) + kept == 1_000_000
    assert "`colony ticket show shop 3` shows them" in quoted


def test_a_megabyte_of_backticks_does_not_double_the_quote() -> None:
    assert len(quote("`" * 1_000_000, 5_000, "")) < 300


@given(st.text(max_size=200), st.integers(0, 300))
def test_a_cut_keeps_both_ends_and_counts(text: str, limit: int) -> None:
    short, left_out = cut(text, limit)
    assert len(short) <= limit
    if left_out and limit > 20:
        head, tail = short.split(f"\n{GAP}\n", 1)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) + left_out == len(text)


def test_a_cut_never_halves_a_character() -> None:
    short, _ = cut("😀" * 100, 31)
    short.encode("utf-8")


@given(HOSTILE)
def test_code_is_one_inert_line(text: str) -> None:
    line = code(text)
    assert not re.search("[\n\r\x00\x1b\x85\u2028\ud800]", line)
    ticks = re.match("`+", line)
    assert ticks
    if len(line) > 2:
        inner = line[len(ticks[0]) : -len(ticks[0])]
        assert ticks[0] not in re.findall("`+", inner)


def test_clean_counts_what_it_changed() -> None:
    assert clean("\x00\x00" + "`" * 99).replaced == 3


def block(name: str, size: int):
    return lambda room: name + "." * (min(size, room) - len(name))


def test_entries_that_fit_all_stand() -> None:
    blocks = [block("a", 900), block("b", 50), block("c", 10)]
    assert within(blocks, 1_000, "").count("\n\n") == 2
    assert len(within(blocks, 1_000, "")) == 964


def test_the_middle_entries_go_first_and_it_is_said() -> None:
    blocks = [block(f"<{n}>", 500) for n in range(100)]
    text = within(blocks, 10_000, "`colony ticket show shop 3` shows them")
    assert len(text) <= 10_000
    kept = [int(n) for n in re.findall(r"<(\d+)>", text)]
    gone = re.search(r"\((\d+) entries are left out here; `colony ticket show shop 3`", text)
    assert gone
    assert int(gone[1]) + len(kept) == 100
    assert kept[0] == 0
    assert kept[-1] == 99
    first_gap = next(n for n in range(100) if n not in kept)
    last_gap = next(n for n in range(99, -1, -1) if n not in kept)
    assert set(kept) == {*range(first_gap), *range(last_gap + 1, 100)}
    assert 99 - last_gap > first_gap


def test_one_huge_entry_does_not_push_the_others_out() -> None:
    blocks = [block("old", 100), block("huge", 1_000_000), block("new", 100)]
    text = within(blocks, 8_000, "")
    assert len(text) <= 8_000
    assert all(word in text for word in ("old", "huge", "new"))


@pytest.mark.parametrize("count", [0, 1])
def test_few_entries(count: int) -> None:
    assert within([block("a", 20)] * count, 1_000, "") == ("a" + "." * 19) * count
