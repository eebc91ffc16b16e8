"""What streams said, summed exactly and rounded once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import closing, report
from test_session import LEASED, NOW

from colony.coding.claude import Claude
from colony.core.endings import Exit, ending_of
from colony.core.markers import Report, parse
from colony.core.money import cents_of, dollars, nanos_of, usd_of
from colony.core.outbox import passed
from colony.core.session import Ended, Facts, PartFacts, part_ended, part_started
from colony.core.texts.layout import price

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "claude"


@pytest.mark.parametrize(
    ("usd", "nanos", "cents", "said"),
    [
        (0.0, 0, 0, "$0.00"),
        (1.84, 1_840_000_000, 184, "$1.84"),
        (0.0024000000000000002, 2_400_000, 0, "$0.00"),
        (0.000_000_3, 300, 0, "$0.00"),
        (0.005, 5_000_000, 1, "$0.01"),
        (0.004_999_999, 4_999_999, 0, "$0.00"),
        # As binary fractions these lie below the half that was said.
        (1.005, 1_005_000_000, 101, "$1.01"),
        (2.675, 2_675_000_000, 268, "$2.68"),
        (1_000_000.0, 10**15, 10**8, "$1000000.00"),
        (-0.5, 0, 0, "$0.00"),
        (float("inf"), 0, 0, "$0.00"),
        (float("nan"), 0, 0, "$0.00"),
    ],
)
def test_an_amount_is_what_was_said(usd: float, nanos: int, cents: int, said: str) -> None:
    assert nanos_of(usd) == nanos
    assert cents_of(nanos) == cents
    assert dollars(cents) == said
    assert price(usd, True, 1) == f"{said} · 1 session"


@given(st.integers(0, 10**15))
def test_nothing_is_lost_between_the_two(nanos: int) -> None:
    assert nanos_of(usd_of(nanos)) == nanos


def parts(*costs: float) -> Facts:
    made = [
        PartFacts(at, "work", f"u{at}", False, NOW, cost_usd=cost, cost_known=True)
        for at, cost in enumerate(costs, 1)
    ]
    return replace(LEASED, parts=tuple(made))


@given(st.lists(st.integers(0, 10**12), max_size=30))
def test_a_sum_of_parts_is_exact_to_the_billionth(nanos: list[int]) -> None:
    facts = parts(*(each / 10**9 for each in nanos))
    assert nanos_of(facts.cost_usd) == sum(nanos)


def test_many_small_parts_round_once() -> None:
    """Half a cent each: rounded one by one they were $0.11, added as floats $0.05."""
    facts = parts(*[0.005] * 11)
    assert sum(part.cost_usd for part in facts.parts) < 0.055 == facts.cost_usd
    assert closing(cost_usd=facts.cost_usd, runs=11).price == "$0.06 · 11 sessions"
    assert closing(cost_usd=facts.cost_usd).spent.cost_cents == 6


# --- from real streams to the ticket ---------------------------------------------------------


def ran(facts: Facts, kind: str, conversation: str, stream: list[str]) -> Facts:
    """A part that left this stream."""
    facts = part_started(facts, kind, conversation, NOW)  # type: ignore[arg-type]
    turn = Claude().read(stream)
    ended = ending_of(turn, Exit(code=0), None)
    return part_ended(facts, len(facts.parts), Ended(turn, Exit(code=0), ended, None, NOW))


def stream_of(name: str) -> list[str]:
    return (CORPUS / name).read_text(encoding="utf-8").splitlines()


def dearer(stream: list[str], usd: float) -> list[str]:
    """The stream as it would be had the run cost so much."""
    events = [json.loads(line) for line in stream]
    return [
        json.dumps(each | ({"total_cost_usd": usd} if "total_cost_usd" in each else {}))
        for each in events
    ]


def told(facts: Facts) -> tuple[str, str]:
    """The line for people and the machine line of a result."""
    end = closing(
        cost_usd=facts.cost_usd,
        cost_known=all(part.cost_known for part in facts.parts),
        runs=len(facts.parts),
    )
    [text] = [each.text for each in passed(end, report()) if each.kind == "comment"]
    *_, shown, _, machine = text.splitlines()
    line = parse(machine)
    assert isinstance(line, Report)
    assert line.spent.cost_cents is not None
    assert line.spent.lower_bound is not end.cost_known
    assert f" · cost {line.spent.cost_cents // 100}.{line.spent.cost_cents % 100:02} · " in machine
    return shown, dollars(line.spent.cost_cents)


def test_the_price_of_a_session_is_what_its_streams_said() -> None:
    """A worker, its conversation gone on with (a total over both), and a check."""
    facts = ran(LEASED, "work", "a", stream_of("success-stream.jsonl"))
    facts = ran(facts, "work", "a", stream_of("resume.json"))
    facts = ran(facts, "check", "b", stream_of("structured.json"))
    assert [nanos_of(part.cost_usd) for part in facts.parts] == [800_000, 800_000, 800_000]
    assert told(facts) == ("$0.00 · 3 sessions", "$0.00")
    facts = ran(facts, "check", "c", stream_of("budget.json"))
    assert nanos_of(facts.cost_usd) == 1_602_400_000
    assert told(facts) == ("$1.60 · 4 sessions", "$1.60")


def test_half_a_cent_is_told_alike_in_both_lines() -> None:
    """2.675 dollars: printed as a float it is 2.67, times a hundred and rounded it is 268."""
    facts = ran(LEASED, "work", "a", dearer(stream_of("success-stream.jsonl"), 1.005))
    facts = ran(facts, "work", "a", dearer(stream_of("resume.json"), 2.6746))
    facts = ran(facts, "check", "b", dearer(stream_of("structured.json"), 0.0004))
    assert told(facts) == ("$2.68 · 3 sessions", "$2.68")


def test_a_part_that_was_killed_leaves_a_lower_bound() -> None:
    facts = ran(LEASED, "work", "a", dearer(stream_of("success-stream.jsonl"), 0.31))
    facts = ran(facts, "work", "a", stream_of("sigterm-stream.jsonl"))
    assert [part.cost_known for part in facts.parts] == [True, False]
    facts = ran(facts, "check", "b", dearer(stream_of("structured.json"), 0.1))
    assert told(facts) == ("at least $0.41 · 3 sessions", "$0.41")
