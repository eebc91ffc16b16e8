"""What does not weigh changes neither lease nor priority, wherever it stands."""

from __future__ import annotations

import pytest
from histories import ANNA, BOB, HOST, S1, S2, SHA, Story, line
from hypothesis import given
from hypothesis import strategies as st

from colony.core.keywords import priority_of
from colony.core.lease import view_of
from colony.core.markers import (
    Deployed,
    Handled,
    LeaseExpired,
    LeaseLine,
    NoVerdict,
    Parked,
    Report,
    Retry,
    Run,
    Verdict,
)
from colony.core.ticket import Event
from colony.core.weight import weighs

UNTIL = 1_000_000_900_000
MARKERS = [
    *(LeaseLine(s, HOST, kind, UNTIL) for s in (S1, S2) for kind in ("started", "renewed")),
    LeaseLine(S1, HOST, "resumed", UNTIL, 1),
    Parked(S1, HOST, "worker", UNTIL, UNTIL),
    LeaseExpired(S1, HOST),
    Report(S1, SHA, passed=True, ready=True),
    Report(S1, SHA, passed=True),
    Verdict(S1, 1, 3),
    NoVerdict(S1),
    Run(S1, HOST, "given back", "broken"),
    Deployed(S1, SHA),
    Handled(1, "prio"),
    Retry(UNTIL),
]
TEXTS = [
    *map(line, MARKERS),
    "words", "/prio high", "  /PRIO -3", "/prio nonsense", "/hold", "say /prio high", "/Prio: low",
    f"session {S2} started on {HOST}",
]  # fmt: skip
KINDS = st.sampled_from(["comment", "comment", "state", "edit", "link", "member", "file"])
STATES = st.sampled_from(["open", "progress", "progress", "review", "pending", "done"])


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    story = Story()
    for _ in range(draw(st.integers(0, 12))):
        kind, text = draw(KINDS), draw(st.sampled_from(TEXTS))
        who = draw(st.sampled_from([None, ANNA, BOB]))
        if kind == "state":
            story.moves(draw(STATES), text, by=who)
        else:
            story._add(kind, who, text)
    return story.events


@given(histories())
def test_the_rest_can_be_left_out(events: list[Event]) -> None:
    heavy = [event for event in events if weighs(event)]
    assert view_of(heavy) == view_of(events)
    for admins in (frozenset({"u1"}), frozenset({"u1", "u2"}), frozenset()):
        assert priority_of(heavy, admins) == priority_of(events, admins)


@pytest.mark.parametrize(
    ("kind", "who", "text", "wanted"),
    [
        ("comment", ANNA, "a word", False),
        ("comment", ANNA, "/prio high", True),
        ("comment", ANNA, "/hold", False),
        ("comment", ANNA, line(Retry(UNTIL)), False),
        ("comment", None, "a word", False),
        ("comment", None, line(Deployed(S1, SHA)), True),
        ("comment", None, "/prio high", False),
        ("state", ANNA, "", True),
        ("created", ANNA, "", True),
        ("edit", None, line(Deployed(S1, SHA)), False),
        ("link", ANNA, "/prio high", False),
    ],
)
def test_few_things_weigh(kind: str, who: tuple[str, str] | None, text: str, wanted: bool) -> None:
    assert weighs(Story()._add(kind, who, text).last) is wanted
