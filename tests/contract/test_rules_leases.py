"""Leases as the tracker shows them: the fencing number, conditions, what ends one (F44 to F46)."""

from __future__ import annotations

import pytest
from edges import Cast, event_of

from colony.core.lease import is_mine
from colony.core.markers import (
    Deployed,
    LeaseExpired,
    LeaseLine,
    LeaseWord,
    Marker,
    Parked,
    Report,
    Run,
    Verdict,
    format,
)
from colony.core.ticket import STATES, LeaseView, Ref, State
from colony.tracker.protocol import Conflict, Guard, Tracker, Written

pytestmark = pytest.mark.over("memory", "http")

MINE, OTHER = "s-20260101T0000-abcdef", "s-20260101T0000-fedcba"
TTL = 600_000
HASH = "0123456789ab"


def line(cast: Cast, kind: LeaseWord = "started", session: str = MINE) -> str:
    return format(LeaseLine(session, "h1", kind, cast.clock.ms + TTL))


def take(
    cast: Cast, ref: Ref, session: str = MINE, guard: int | None = None, who: Tracker | None = None
) -> Written | Conflict:
    text = f"Started.\n\n{line(cast, session=session)}"
    condition = Guard(event=cast.alice.ticket(ref).ticket.last_event if guard is None else guard)
    return (who or cast.colony).move(
        ref, "progress", text=text, key=f"{session}:take", guard=condition
    )


def lease(cast: Cast, ref: Ref) -> LeaseView | None:
    return cast.alice.ticket(ref).ticket.lease


def say(cast: Cast, ref: Ref, marker: Marker) -> int:
    return cast.comment(cast.colony, ref, f"Words.\n\n{format(marker)}")


def test_the_fencing_number_is_the_event_that_took_it(cast: Cast) -> None:
    ref = cast.ticket()
    token = event_of(take(cast, ref))
    assert lease(cast, ref) == LeaseView(MINE, "h1", "started", token, cast.clock.ms + TTL)
    for kind in ("renewed", "resumed", "renewed"):
        cast.clock.ms += 1000
        cast.comment(cast.colony, ref, line(cast, kind))  # type: ignore[arg-type]
        held = lease(cast, ref)
        assert held == LeaseView(MINE, "h1", kind, token, cast.clock.ms + TTL)  # type: ignore[arg-type]
    say(cast, ref, Parked(MINE, "h1", "worker", cast.clock.ms + 5, cast.clock.ms + 9))
    held = lease(cast, ref)
    assert held == LeaseView(MINE, "h1", "parked", token, cast.clock.ms + 9)


def test_two_who_saw_it_free_are_told_who_has_it(cast: Cast) -> None:
    """F32, F44: the second is answered with the lease, and nothing of it is written."""
    ref = cast.ticket()
    seen = cast.alice.ticket(ref).ticket.last_event
    token = event_of(take(cast, ref, guard=seen))
    answer = take(cast, ref, OTHER, guard=seen)
    assert answer == Conflict("progress", token, lease(cast, ref))
    assert len(cast.alice.ticket(ref).events) == 2


def test_a_repeated_take_is_the_same_lease(cast: Cast) -> None:
    """F38: no answer came; the same bytes with the same key, though the condition is old by now."""
    ref = cast.ticket()
    seen = cast.alice.ticket(ref).ticket.last_event
    first = take(cast, ref, guard=seen)
    cast.comment(cast.alice, ref, "Nice.")
    assert take(cast, ref, guard=seen) == first
    assert lease(cast, ref) == LeaseView(
        MINE, "h1", "started", event_of(first), cast.clock.ms + TTL
    )


def test_a_persons_comment_is_no_loss(cast: Cast) -> None:
    """The renewal is told that it is not up to date, reads, and is still the holder."""
    ref = cast.ticket()
    token = event_of(take(cast, ref))
    word = cast.comment(cast.alice, ref, "How is it going?")
    renewed = line(cast, "renewed")
    renewal = lambda guard: cast.colony.comment(ref, renewed, key="r1", guard=Guard(event=guard))  # noqa: E731
    answer = renewal(token)
    assert isinstance(answer, Conflict)
    assert (answer.state, answer.last_event) == ("progress", word)
    assert answer.lease is not None
    assert answer.lease.token == token
    history = cast.alice.ticket(ref)
    assert is_mine(history.ticket.state, history.events, MINE)
    assert event_of(renewal(word)) > word


@pytest.mark.parametrize("state", [each for each in STATES if each != "progress"])
@pytest.mark.parametrize("mover", ["person", "machine"])
def test_whoever_moves_a_ticket_ends_its_lease(cast: Cast, state: State, mover: str) -> None:
    """F45: the next beat sees it. And back in `progress` it is nobody's."""
    if mover == "machine" and state in ("done", "reopened", "canceled"):
        return
    ref = cast.ticket()
    token = event_of(take(cast, ref))
    who = cast.alice if mover == "person" else cast.colony
    moved = event_of(who.move(ref, state, key="m"))
    assert lease(cast, ref) is None
    answer = cast.colony.comment(ref, line(cast, "renewed"), key="r", guard=Guard(event=token))
    assert answer == Conflict(state, moved, None)
    history = cast.alice.ticket(ref)
    assert not is_mine(history.ticket.state, history.events, MINE)
    cast.alice.move(ref, "progress", key="n")
    assert lease(cast, ref) is None
    cast.comment(cast.colony, ref, line(cast, "renewed"))
    assert lease(cast, ref) is None


@pytest.mark.parametrize(
    "end",
    [
        Report(MINE, HASH),
        Report(MINE, HASH, half_done=True),
        Verdict(MINE, 1, 3),
        Run(MINE, "h1", "given back"),
        LeaseExpired(MINE, "h1"),
        Deployed(MINE, HASH),
    ],
    ids=format,
)
def test_its_own_last_word_ends_a_lease(cast: Cast, end: Marker) -> None:
    ref = cast.ticket()
    take(cast, ref)
    say(cast, ref, end)
    assert lease(cast, ref) is None


@pytest.mark.parametrize(
    "word",
    [
        Report(MINE, HASH, late=True),
        Report(OTHER, HASH, late=True),
        Report(OTHER, HASH),
        Verdict(OTHER, 1, 3),
        Run(OTHER, "h2", "no report"),
        LeaseExpired(OTHER, "h2"),
    ],
    ids=format,
)
def test_late_lines_and_lines_of_others_end_nothing(cast: Cast, word: Marker) -> None:
    ref = cast.ticket()
    take(cast, ref)
    held = lease(cast, ref)
    say(cast, ref, word)
    assert lease(cast, ref) == held


def test_a_start_while_another_lease_lives_is_void(cast: Cast) -> None:
    """Without conditions the order of events decides, at the time of the event."""
    ref = cast.ticket()
    take(cast, ref)
    held = lease(cast, ref)
    cast.clock.ms += TTL
    cast.comment(cast.colony, ref, line(cast, session=OTHER))
    cast.colony.move(ref, "progress", text=line(cast, session=OTHER), key="x")
    assert lease(cast, ref) == held
    cast.clock.ms += 10 * TTL
    # Dead, and not ended: it stays the last word until somebody expires it or takes the ticket.
    assert lease(cast, ref) == held
    assert held is not None


def test_an_expired_ticket_is_taken_with_a_new_number(cast: Cast) -> None:
    ref = cast.ticket()
    old = event_of(take(cast, ref))
    cast.clock.ms += TTL + 1
    text = f"Silent.\n\n{format(LeaseExpired(MINE, 'h1'))}"
    cast.colony.move(ref, "open", text=text, key="e", guard=Guard(event=old))
    assert lease(cast, ref) is None
    new = event_of(take(cast, ref, OTHER))
    held = lease(cast, ref)
    assert held is not None
    assert (held.session, held.token) == (OTHER, new)
    assert new > old
    # What the first one files now changes nothing (F6).
    say(cast, ref, Report(MINE, HASH, late=True))
    cast.comment(cast.colony, ref, line(cast, "renewed"))
    assert lease(cast, ref) == held


def test_a_reopened_ticket_is_a_new_epoch(cast: Cast) -> None:
    """F46: old late reports do not close it."""
    ref = cast.ticket()
    first = event_of(take(cast, ref))
    say(cast, ref, Report(MINE, HASH, passed=True))
    cast.colony.move(ref, "review", key="r")
    cast.alice.move(ref, "reopened", text="It leaks.", key="o")
    second = event_of(take(cast, ref, OTHER))
    say(cast, ref, Report(MINE, HASH, passed=True))
    say(cast, ref, Report(MINE, HASH, late=True))
    held = lease(cast, ref)
    assert held is not None
    assert (held.session, held.token) == (OTHER, second)
    assert second > first
    assert cast.alice.ticket(ref).ticket.state == "progress"


def test_an_expiry_finds_a_renewal_in_between(cast: Cast) -> None:
    """Compare and set in the reaper: it acts on the very lease that it saw dead, or not at all."""
    ref = cast.ticket()
    seen = event_of(take(cast, ref))
    cast.clock.ms += TTL + 1
    renewed = cast.comment(cast.colony, ref, line(cast, "renewed"))
    text = format(LeaseExpired(MINE, "h1"))
    answer = cast.colony.move(ref, "open", text=text, key="e", guard=Guard(event=seen))
    assert isinstance(answer, Conflict)
    assert answer.last_event == renewed
    assert answer.lease is not None
    assert answer.lease.kind == "renewed"
    assert cast.alice.ticket(ref).ticket.state == "progress"


def test_a_person_always_wins(cast: Cast) -> None:
    """F44, I3: the session's last move meets the person's, and writes nothing."""
    ref = cast.ticket()
    token = event_of(take(cast, ref))
    cast.alice.move(ref, "canceled", text="Never mind.", key="c")
    answer = cast.colony.move(ref, "review", key="r", guard=Guard("progress", token))
    assert isinstance(answer, Conflict)
    history = cast.alice.ticket(ref)
    assert history.ticket.state == "canceled"
    # It can still file its report as a comment.
    assert say(cast, ref, Report(MINE, HASH)) > 0
    assert cast.alice.ticket(ref).ticket.state == "canceled"
