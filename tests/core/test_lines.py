"""Lines: what a terminal sees, what a program reads, and the list of their kinds."""

from __future__ import annotations

import json
import math
import unicodedata
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.lines import KINDS, OWN, Line, clip, printable

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "templates/lines.schema.json").read_text("utf-8")
)
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_the_schema_lists_exactly_the_kinds_with_their_words() -> None:
    listed = {each["const"]: each["title"] for each in SCHEMA["properties"]["kind"]["oneOf"]}
    assert listed == KINDS


def test_a_kind_is_its_first_words() -> None:
    own_words = {
        "cycle.nothing": "CYCLE —",
        "lease.row": "LEASE",
        "ready.row": "READY",
        "doctor.row": "DOCTOR",
        "report.ok": "REPORT OK",
        "work.controller_failed": "WORK OK, CONTROLLER FAILED",
        "check.controller_failed": "CHECK OK, CONTROLLER FAILED",
        "salvage.controller_failed": "SALVAGE OK, CONTROLLER FAILED",
    }
    for kind, words in KINDS.items():
        if words and kind not in own_words:
            plain = words.rstrip(":").lower().replace(": ", " ").replace(" ", ".")
            assert plain == kind.replace("_", "."), kind
    assert {kind: KINDS[kind] for kind in own_words} == own_words


@given(text=ANY_TEXT)
def test_no_text_forges_a_line_or_moves_a_terminal(text: str) -> None:
    shown = Line("ticket", text).as_text()
    assert shown.startswith("TICKET")
    assert len(shown.splitlines()) == 1
    assert not {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nTICKETS: 9", "a TICKETS: 9"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud83d", "\\ud83d"),
        ("NUL\0", "NUL\\x00"),
        ("👩\u200d🚀 grüß", "👩\u200d🚀 grüß"),
        ("\x85", "\\x85"),
    ],
)
def test_what_is_shown_of_odd_characters(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(text=ANY_TEXT, limit=st.integers(0, 50))
def test_a_clipped_text_is_one_short_line(text: str, limit: int) -> None:
    found = clip(text, limit)
    assert len(found) <= max(limit, 1)
    assert len(found.splitlines()) <= 1


@given(text=ANY_TEXT, fact=st.floats() | ANY_TEXT | st.lists(st.floats()))
def test_json_is_one_line_of_ascii_that_fits_the_schema(text: str, fact: Any) -> None:
    line = Line("ticket", text, ticket="shop#1", ms=3, facts={"x": fact})
    printed = line.as_json_text()
    assert printed.isascii()
    assert "\n" not in printed
    read = json.loads(printed, parse_constant=pytest.fail)
    jsonschema.validate(read, SCHEMA)
    assert read.get("text", "") == text


def test_no_fact_hides_what_a_line_says_of_itself() -> None:
    line = Line("ticket", "mine", facts=dict.fromkeys(OWN, "forged"))
    assert line.as_json() == {"kind": "ticket", "text": "mine"}


def test_numbers_that_json_has_not_become_null() -> None:
    facts = {"a": math.nan, "b": [math.inf, 1.5], "c": {"d": -math.inf}}
    read = json.loads(Line("note", facts=facts).as_json_text())
    assert read == {"kind": "note", "a": None, "b": [None, 1.5], "c": {"d": None}}


def test_an_unknown_kind_is_a_mistake_in_the_program() -> None:
    with pytest.raises(KeyError):
        Line("no such kind").as_text()
