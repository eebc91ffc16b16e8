"""What `/usage` tells of an account's windows: recordings, rows as the program sends them, and
whatever else could be printed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.coding.claude import Claude
from colony.coding.quota import NO_ANSWER, NO_ROWS, NOT_FETCHED, NOT_READ, read_usage
from colony.core.turn import QuotaAnswer, Reading, share_of

CORPUS = Path(__file__).parents[1] / "corpus" / "claude"


def ms(iso: str) -> int:
    return int(datetime.fromisoformat(iso).timestamp() * 1000)


def row(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "kind": "session",
        "group": "session",
        "percent": 42,
        "resets_at": "2026-12-01T17:00:00.123456+00:00",
        "scope": None,
        "severity": "normal",
        "is_active": True,
    }
    return fields | changes


def usage(*rows: Any, text: str = "", model: str = "<synthetic>", **result: Any) -> list[Any]:
    """The messages of one call, as the program lists them."""
    content = [{"type": "text", "text": text}]
    return [
        {"type": "system", "subtype": "init"},
        {
            "type": "assistant",
            "message": {"model": model, "content": content},
            "timestamp": "2026-12-01T12:00:00.000Z",
            "usage_report": {"session": {}, "rate_limits": {"limits": list(rows)}},
        },
        {"type": "result", "is_error": False, "num_turns": 0, "total_cost_usd": 0} | result,
    ]


def answer(*rows: Any, **more: Any) -> QuotaAnswer:
    return Claude().read_quota(json.dumps(usage(*rows, **more)) + "\n")


def test_the_typed_rows() -> None:
    scope = {"model": {"display_name": "Opus"}, "surface": None}
    given_ = answer(
        row(),
        row(kind="weekly_all", percent=7.5, resets_at="2026-12-04T08:00:00Z", severity="warning"),
        row(kind="weekly_scoped", percent=100, scope=scope, resets_at=None),
    )
    assert given_ == QuotaAnswer(
        (
            Reading("session", 0.42, ms("2026-12-01T17:00:00.123Z"), "normal"),
            Reading("weekly_all", 0.075, ms("2026-12-04T08:00:00Z"), "warning"),
            Reading("weekly_scoped", 1.0, None, "normal"),
        )
    )
    assert [each.kind for each in given_.readings] == ["session", "week", ""]


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        ("five_hour", "session"),
        ("session", "session"),
        ("seven_day", "week"),
        ("weekly_all", "week"),
        ("seven_day_opus", ""),
        ("seven_day_sonnet", ""),
        ("seven_day_overage_included", ""),
        ("weekly_scoped", ""),
        ("overage", ""),
        ("", ""),
    ],
)
def test_a_window_is_the_sessions_or_the_weeks_or_neither(window: str, kind: str) -> None:
    assert Reading(window).kind == kind


@pytest.mark.parametrize(
    "bad",
    [
        row(percent=-1),
        row(percent=100.5),
        row(percent="42"),
        row(percent=True),
        row(percent=None),
        row(percent=[42]),
        row(kind=""),
        row(kind=7),
        {"kind": "session"},
        "session",
        None,
        [],
    ],
)
def test_what_is_no_reading_is_none_and_harms_no_other(bad: Any) -> None:
    assert answer(bad) == QuotaAnswer(problem=NOT_READ)
    assert [each.used for each in answer(bad, row(), bad).readings] == [0.42]


@pytest.mark.parametrize("resets", [7, "", "soon", "2026-13-01T00:00:00Z", "0001-01-01", [], {}])
def test_an_unknown_reset_leaves_the_share(resets: Any) -> None:
    assert answer(row(resets_at=resets)).readings == (Reading("session", 0.42, None, "normal"),)


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose own zone is nine hours ahead of UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_a_reset_without_a_zone_is_meant_in_utc() -> None:
    (reading,) = answer(row(resets_at="2026-12-01T17:00:00")).readings
    assert reading.resets_ms == ms("2026-12-01T17:00:00Z")


TEXT = (
    "You are currently using your subscription to power your Claude Code usage\n\n"
    "Current session: 42% used · resets Dec 1, 5pm (Europe/Vienna)\n"
    "Current week (all models): 7% used · resets Dec 4, 9:30am\n"
    "Current week (Opus): 100% used\n"
)


def test_the_lines_where_no_row_is_typed() -> None:
    vienna = ZoneInfo("Europe/Vienna")
    expected = (
        Reading("session", 0.42, ms("2026-12-01T16:00:00Z")),
        Reading("weekly_all", 0.07, ms("2026-12-04T08:30:00Z")),
        Reading("weekly_scoped", 1.0, None),
    )
    messages = usage(text=TEXT)
    assert read_usage(json.dumps(messages), vienna) == QuotaAnswer(expected)
    messages[1]["usage_report"] = None
    assert read_usage(json.dumps(messages), vienna) == QuotaAnswer(expected)
    # One object, as without --verbose: no message says when, so no day is known.
    alone = read_usage(json.dumps(messages[2] | {"result": TEXT}), vienna)
    assert [(each.window, each.used, each.resets_ms) for each in alone.readings] == [
        (each.window, each.used, None) for each in expected
    ]
    # The typed rows stand where both are there.
    both = read_usage(json.dumps(usage(row(percent=50), text=TEXT)), vienna)
    assert [each.used for each in both.readings] == [0.5]


@pytest.mark.parametrize(
    "line",
    ["Current session: 420% used", "Current session: x% used", "Current session: 42 used",
     "The Current session: 42% used", "Current month: 4% used", "Current session: -4% used"],
)  # fmt: skip
def test_other_lines_are_no_rows(line: str) -> None:
    assert answer(text=line).readings == ()


def test_a_models_words_are_no_quota() -> None:
    """A version that does not know `/usage` would ask a model about it."""
    given_ = answer(text=TEXT, model="claude-haiku-5-5", num_turns=1, result=TEXT)
    assert given_.readings == ()
    assert answer(row(), total_cost_usd=0.0123).cost_usd == 0.0123


@pytest.mark.parametrize("cost", [-1, "1", None, True, 10**12])
def test_an_absurd_cost_is_none(cost: Any) -> None:
    assert answer(row(), total_cost_usd=cost).cost_usd == 0


def test_a_recording_with_rows() -> None:
    messages = json.loads((CORPUS / "usage-stored-login.json").read_text("utf-8"))
    typed = Claude().read_quota(json.dumps(messages))
    assert [(each.kind, each.used) for each in typed.readings] == [
        ("session", 0.42),
        ("week", 0.075),
        ("", 1.0),
    ]
    assert [each.resets_ms for each in typed.readings] == [
        ms("2026-12-01T17:00:00.123Z"),
        ms("2026-12-04T08:00:00.500Z"),
        None,
    ]
    for message in messages:
        message.pop("usage_report", None)
    lines = Claude().read_quota(json.dumps(messages))
    assert [(each.kind, each.used, each.resets_ms) for each in lines.readings] == [
        ("session", 0.42, ms("2026-12-01T17:00:00Z")),
        ("week", 0.07, ms("2026-12-04T08:00:00Z")),
        ("", 0.03, None),
    ]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("usage-api-key.json", NO_ROWS),
        ("usage-oauth-token.json", NO_ROWS),
        ("usage-stored-login-unreachable.json", NOT_FETCHED),
        ("not-logged-in.json", "the quota call failed: Not logged in · Please run /login"),
        ("unreachable.json", "the quota call failed: API Error: Connection refused — a firewall"
         " or proxy may be blocking it (ECONNREFUSED)"),
        ("success-verbose.json", NO_ROWS),
    ],
)  # fmt: skip
def test_recordings_without_a_reading(name: str, problem: str) -> None:
    given_ = Claude().read_quota((CORPUS / name).read_text("utf-8"))
    assert (given_.readings, given_.problem) == ((), problem)


@pytest.mark.parametrize(
    "output",
    ["", "\n", "null", "[]", "{}", "7", "NaN", "[[[[]]]]", "[" * 100_000, "not json",
     '[{"type":"assistant","usage_report":NaN}]', '{"type":"result","type":"result"}',
     '[{"total_cost_usd":1e999}]', "[1, null, \"x\"]", " " * 2_000_000],
)  # fmt: skip
def test_no_answer_at_all(output: str) -> None:
    assert Claude().read_quota(output) == QuotaAnswer(problem=NO_ANSWER)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)


@given(JSON, st.sampled_from(["usage_report", "rate_limits", "limits", "message", "percent"]))
def test_it_never_raises_and_says_why_there_is_nothing(value: Any, where: str) -> None:
    messages = usage(row() | ({where: value} if where == "percent" else {}))
    if where in ("usage_report", "message"):
        messages[1][where] = value
    elif where == "rate_limits":
        messages[1]["usage_report"][where] = value
    elif where == "limits":
        messages[1]["usage_report"]["rate_limits"][where] = value
    for whole in (messages, value, [value], messages[1]):
        given_ = Claude().read_quota(json.dumps(whole))
        assert bool(given_.readings) is not bool(given_.problem)
        assert "\n" not in given_.problem
        for reading in given_.readings:
            assert reading.used is not None
            assert 0 <= reading.used <= 1


@given(st.floats(), st.sampled_from([1, 100]))
def test_a_share_is_one_or_none(value: float, whole: float) -> None:
    share = share_of(value, whole)
    assert share is None or 0 <= share <= 1
    assert share_of(None, whole) is None


def test_hostile_text_takes_no_time() -> None:
    for text in ("Current week (" * 5_000, " " * 50_000 + "x", "Current session: " + "9" * 50_000):
        assert read_usage(json.dumps(usage(text=text)), UTC).readings == ()
