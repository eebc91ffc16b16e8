"""Markdown on a terminal: laid out, and never less than what was written."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.cli.terminal import markdown, table


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def shown(body: str) -> str:
    return markdown(body, colour=False)


def lines(body: str) -> list[str]:
    """What stands there, without its indent."""
    return [line.strip() for line in shown(body).splitlines() if line.strip()]


@pytest.mark.parametrize(
    "body",
    [
        "Dear <name>, hello",
        "<name>",
        "<div>all of it</div>",
        "a <br> b",
        "<!-- a remark --> and more",
        "<script>alert(1)</script>",
        "a < b and c > d",
        "[name]: http://shop.example",
        "see [name] there",
    ],
)
def test_what_looks_like_markup_is_shown_as_typed(body: str) -> None:
    assert lines(body) == [body]
    # Beside it the text is laid out all the same.
    assert lines(f"{body}\n\n**bold**") == [body, "bold"]


def test_markup_in_code_is_shown_as_typed() -> None:
    assert lines("Use `<b>`.\n\n```html\n<div>\n```") == ["Use <b>.", "<div>"]


def test_markdown_is_laid_out() -> None:
    said = shown("# Title\n\n- **one**\n- [shop](http://shop.example)\n\n> quoted")
    assert not set("#*[>") & set(said)
    assert "• shop (http://shop.example)" in said
    assert "▌ quoted" in said


def test_the_address_of_a_picture_is_kept() -> None:
    assert lines("**A** ![cart](http://a.b/a.png)") == ["A !cart (http://a.b/a.png)"]


@pytest.mark.parametrize("mark", [">", "> ", "- "])
def test_a_text_too_deep_is_shown_as_it_is(mark: str) -> None:
    body = f"**Before**\n\n{mark * 500}42"
    assert shown(body).startswith("  **Before**")
    assert "42" in " ".join(shown(body).split())
    assert shown(f"**Before**\n\n{mark * 4}42").startswith("  Before")


def test_what_a_table_or_a_link_would_leave_out_is_shown_as_it_is() -> None:
    table = "| a | b |\n|---|---|\n| one | two |"
    assert "|" not in shown(table)
    assert lines(f"{table} three |") == f"{table} three |".splitlines()
    assert '"a title"' in shown('[shop](http://shop.example "a title")')


def test_a_narrow_terminal_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    assert "deep" in shown("> " * 6 + "deep")


PIECES = st.sampled_from(
    [
        *"<>`[|!)_\\\n\"", "</", "&lt;", "```", "~~~", "](", "]:", "|-|-|", "- ", "1. ", "# ", "> ",
        "**", "\n\n", "    ", "\t", "word", "http://a.b", "Été",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join))
def test_no_letter_is_lost(body: str) -> None:
    """But the language of a piece of code, which is said by its colours."""

    def letters(text: str) -> Counter[str]:
        return Counter(filter(str.isalpha, text))

    assert not letters(re.sub("(?:```|~~~).*", "", body)) - letters(shown(body))


def test_a_table_shortens_nothing_but_wraps_its_last_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [("s-20260131T1819-abc123", "shop#1", "$0.05", "it waits " * 20)]
    for width in (64, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        drawn = table(("session", "ticket", "cost", "how"), rows, colour=False)
        assert drawn is not None
        assert all(cell in drawn for cell in rows[0][:-1])
        assert drawn.count("waits") == 20
        assert "…" not in drawn
    monkeypatch.setenv("COLUMNS", "55")
    assert table(("session", "ticket", "cost", "how"), rows, colour=False) is None
