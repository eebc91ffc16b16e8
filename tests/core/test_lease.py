"""Who holds a ticket: given histories and their answers."""

from __future__ import annotations

import pytest
from histories import EVE, HOST, MINUTE, S1, S2, SHA, TTL, Story, line
from hypothesis import given
from hypothesis import strategies as st

from colony.core.lease import (
    Ended,
    Lease,
    is_dead,
    is_mine,
    lease_of,
    margin_ms,
    renewal_at,
    still_leased,
    view_of,
)
from colony.core.markers import (
    Deployed,
    Handled,
    LeaseExpired,
    LeaseLine,
    Marker,
    NoVerdict,
    Parked,
    Report,
    Retry,
    Run,
    Verdict,
)
from colony.core.ticket import LeaseView, State

READY = Report(S1, SHA, passed=True, ready=True)


def held(story: Story) -> Lease:
    lease = lease_of(story.events)
    assert isinstance(lease, Lease)
    return lease


def ended(story: Story) -> Ended:
    end = lease_of(story.events)
    assert isinstance(end, Ended)
    return end


def test_nobody_ever_took_it() -> None:
    assert lease_of([]) is None
    assert lease_of(Story().says("hello").events) is None
    assert lease_of(Story().moves("progress").events) is None


def test_a_start_takes_the_ticket() -> None:
    story = Story().starts(S1)
    at = story.last.id
    assert held(story) == Lease(S1, HOST, "started", at, at, story.now + TTL)


def test_a_renewal_moves_the_end_and_keeps_the_token() -> None:
    story = Story().starts(S1)
    token = story.last.id
    story.wait(60 * MINUTE).says("and the footer?").renews(S1)
    lease = held(story)
    assert (lease.kind, lease.token, lease.event) == ("renewed", token, story.last.id)
    assert lease.until_ms == story.now + TTL


def test_a_park_and_a_resume() -> None:
    story = Story().starts(S1).notes(Parked(S1, HOST, "worker", 7, 9))
    assert (held(story).kind, held(story).parks) == ("parked", 1)
    assert (held(story).resume_ms, held(story).until_ms) == (7, 9)
    story.notes(LeaseLine(S1, HOST, "resumed", 11, park=1))
    assert (held(story).kind, held(story).parks) == ("resumed", 1)
    assert (held(story).resume_ms, held(story).until_ms) == (None, 11)


def test_the_oldest_form_never_expires() -> None:
    story = Story().moves("progress", f"session {S1} started on Oak", by=None)
    assert held(story).until_ms is None
    assert not is_dead(held(story), 10**14)


def test_a_person_who_types_a_machine_line_changes_nothing() -> None:
    story = Story().starts(S1)
    before = held(story)
    story.says(line(Deployed(S1, SHA)), by=EVE).says(line(LeaseExpired(S1, HOST)), by=EVE)
    assert held(story) == before
    typed = Story().moves("progress", line(LeaseLine(S2, HOST, "started", 10**14)), by=EVE)
    assert lease_of(typed.events) is None


@pytest.mark.parametrize(
    ("marker", "why", "closing"),
    [
        (Report(S1, SHA, passed=True), "reported", True),
        (Report(S1, SHA, half_done=True), "reported", True),
        (Report(S1, SHA, unchecked=True), "reported", True),
        (Verdict(S1, 1, 2), "failed its check", True),
        (NoVerdict(S1), "its check gave no verdict", True),
        (Run(S1, HOST, "no report"), "no report", True),
        (Run(S1, HOST, "given back"), "given back", True),
        (LeaseExpired(S1, HOST), "expired", False),
        (Deployed(S1, SHA), "deployed", False),
        (Deployed(S2, SHA), "deployed", False),
    ],
)
def test_what_ends_a_lease(marker: Marker, why: str, closing: bool) -> None:
    story = Story().starts(S1).notes(marker)
    assert ended(story) == Ended(S1, why, story.last.id, closing)
    story.renews(S1).notes(Parked(S1, HOST, "worker", 7, 9))
    assert ended(story).why == why, "what ended does not come back"
    assert view_of(story.events) is None


@pytest.mark.parametrize(
    "marker",
    [
        Report(S2, SHA),
        Report(S1, SHA, late=True),
        Report(S1, SHA, ready=True, late=True),
        Report(S2, SHA, ready=True),
        Verdict(S2, 1, 2),
        NoVerdict(S2),
        Run(S2, HOST, "no report"),
        LeaseExpired(S2, HOST),
        Handled(3, "prio"),
        Retry(5),
        LeaseLine(S2, HOST, "renewed", 10**14),
        LeaseLine(S2, HOST, "started", 10**14),
        Parked(S2, HOST, "worker", 7, 9),
    ],
)
def test_what_ends_no_lease(marker: Marker) -> None:
    story = Story().starts(S1)
    before = held(story)
    assert held(story.notes(marker)) == before


@pytest.mark.parametrize("state", ["open", "review", "pending", "done", "reopened", "canceled"])
@pytest.mark.parametrize("by", [EVE, None])
def test_any_move_ends_it_whoever_moved(state: State, by: tuple[str, str] | None) -> None:
    story = Story().starts(S1).moves(state, by=by)
    assert ended(story) == Ended(S1, f"it was moved to {state}", story.last.id)


def test_a_give_back_says_more_than_the_move_it_rides_on() -> None:
    story = Story().starts(S1).turns("open", LeaseExpired(S1, HOST))
    assert ended(story).why == "expired"


def test_a_person_who_takes_it_back_into_progress_has_no_lease() -> None:
    story = Story().starts(S1).moves("open").moves("progress")
    assert lease_of(story.events) is None


def test_a_start_while_another_lease_lives_is_void() -> None:
    story = Story().starts(S1).starts(S2)
    assert held(story).session == S1
    assert held(story.renews(S2)).kind == "started", "its renewals are void too"


def test_a_start_on_a_dead_lease_takes_over() -> None:
    story = Story().starts(S1, ttl=MINUTE).wait(5 * MINUTE).starts(S2)
    assert (held(story).session, held(story).token) == (S2, story.last.id)


def test_the_same_start_written_twice_is_one_lease() -> None:
    story = Story().starts(S1)
    token = story.last.id
    assert held(story.starts(S1)).token == token


def test_a_new_start_after_an_end_has_a_new_token() -> None:
    story = Story().starts(S1).turns("open", Run(S1, HOST, "no report")).starts(S2)
    assert (held(story).session, held(story).token) == (S2, story.last.id)


def test_a_late_renewal_counts_while_nobody_expired_it() -> None:
    story = Story().starts(S1, ttl=MINUTE).wait(60 * MINUTE)
    assert is_dead(held(story), story.now)
    assert not is_dead(held(story.renews(S1)), story.now)


def test_an_order_does_not_expire_until_its_session_starts() -> None:
    story = Story().turns("progress", LeaseLine(S1, "", "queued"))
    token = story.last.id
    assert (held(story).kind, held(story).until_ms) == ("queued", None)
    assert held(story.starts(S2)).session == S1
    story.notes(LeaseLine(S1, "elm", "claimed"))
    assert (held(story).kind, held(story).host, held(story).token) == ("claimed", "elm", token)
    story.notes(LeaseLine(S1, "elm", "started", story.now + TTL))
    assert (held(story).kind, held(story).until_ms) == ("started", story.now - MINUTE + TTL)


def test_an_order_whose_start_is_a_state_change_expires_from_then_on() -> None:
    story = Story().turns("progress", LeaseLine(S1, "", "queued"))
    token = story.last.id
    lease = held(story.starts(S1))
    assert (lease.kind, lease.token, lease.until_ms) == ("started", token, story.now + TTL)


def test_a_resume_says_how_often_it_was_parked() -> None:
    story = Story().starts(S1).notes(LeaseLine(S1, HOST, "resumed", 11, park=2))
    assert held(story).parks == 2


def test_is_dead_only_past_its_time() -> None:
    lease = Lease(S1, HOST, "started", 1, 1, 1000)
    assert not is_dead(lease, 1000)
    assert is_dead(lease, 1001)


# --- built, waits for the deploy ---------------------------------------------------------------


def test_a_built_ticket_never_expires() -> None:
    story = Story().starts(S1)
    token = story.last.id
    lease = held(story.notes(READY))
    assert (lease.kind, lease.token, lease.until_ms) == ("ready", token, None)
    assert held(story.renews(S1)).kind == "ready", "a renewal that was under way changes nothing"
    assert held(story.notes(Parked(S1, HOST, "worker", 7, 9))).kind == "ready"
    assert not is_dead(held(story), 10**14)


def test_built_by_hand_from_open_counts_with_the_move() -> None:
    story = Story().notes(READY)
    assert lease_of(story.events) is None
    assert held(story.turns("progress")).kind == "ready"


def test_built_and_moved_elsewhere_by_a_person_is_not_waiting() -> None:
    story = Story().starts(S1).moves("open").notes(READY).moves("pending")
    assert not isinstance(lease_of(story.events), Lease)
    assert lease_of(story.moves("progress").events) is None


def test_another_sessions_start_voids_built() -> None:
    story = Story().starts(S1).notes(READY).starts(S2)
    assert held(story).session == S2


def test_built_over_a_dead_lease_of_another_session() -> None:
    story = Story().starts(S2, ttl=MINUTE).wait(5 * MINUTE).notes(READY)
    assert (held(story).session, held(story).kind) == (S1, "ready")


# --- lease expiry never touches a finished ticket -----------------------------------------------


def test_m031_a_deployed_comment_without_the_state_ends_a_dead_lease() -> None:
    story = Story().starts(S1, ttl=2000).notes(READY).wait(2500).notes(Deployed(S1, SHA))
    assert ended(story).why == "deployed"


def test_m031_b_moved_to_review_after_the_survey() -> None:
    story = Story().starts(S1, ttl=MINUTE).wait(5 * MINUTE)
    known = held(story)
    story.moves("review")
    assert still_leased(story.history(), known) == "it is review now"


def test_m031_c_renewed_after_the_survey() -> None:
    story = Story(now=0).starts(S1, ttl=MINUTE).wait(5 * MINUTE)
    known = held(story)
    story.renews(S1, ttl=60 * MINUTE)
    assert still_leased(story.history(), known) == (
        f"the lease of {S1} changed (now until 1970-01-01 01:08 UTC)"
    )


def test_m031_d_a_dead_lease_that_nothing_happened_to_may_be_expired() -> None:
    story = Story().starts(S1, ttl=MINUTE).wait(5 * MINUTE)
    known = held(story)
    story.says("anybody there?")
    assert still_leased(story.history(), known) is None
    assert is_dead(known, story.now)


def test_m031_e_a_parked_and_due_session_whose_ticket_moved() -> None:
    story = Story().starts(S1).notes(Parked(S1, HOST, "worker", 7, 10**14))
    known = held(story)
    assert still_leased(story.history(), known) is None
    assert still_leased(story.moves("review").history(), known) == "it is review now"


def test_m031_on_hold_after_the_survey() -> None:
    story = Story().starts(S1, ttl=MINUTE)
    known = held(story)
    assert still_leased(story.moves("pending").history(), known) == "it is pending now"


@pytest.mark.parametrize(
    ("then", "why"),
    [
        (lambda s: s.notes(Parked(S1, HOST, "worker", 7, 9)), f"the lease of {S1} changed (now "),
        (lambda s: s.notes(READY), "it is built now, waiting for the deploy"),
        (lambda s: s.notes(Deployed(S1, SHA)), f"the lease of {S1} has ended: deployed"),
        (lambda s: s.notes(Report(S1, SHA)), f"the lease of {S1} has ended: reported"),
        (lambda s: s.wait(TTL * 2).starts(S2), f"another session holds it now ({S2})"),
        (lambda s: s.moves("open").moves("progress"), f"the lease of {S1} is gone"),
    ],
)
def test_reasons_of_a_re_read(then, why: str) -> None:
    story = Story().starts(S1)
    known = held(story)
    said = still_leased(then(story).history(), known)
    assert said is not None
    assert said.startswith(why)


# --- mine --------------------------------------------------------------------------------------


def test_mine_past_its_time_or_not() -> None:
    story = Story().starts(S1, ttl=MINUTE).wait(TTL)
    assert is_mine("progress", story.events, S1)
    assert not is_mine("progress", story.events, S2)
    assert not is_mine("open", story.events, S1)


def test_mine_until_the_ticket_is_moved_after_the_own_report() -> None:
    story = Story().starts(S1).notes(Report(S1, SHA))
    assert is_mine("progress", story.events, S1)
    story.says("a comment in between")
    assert is_mine("progress", story.events, S1)
    story.moves("open").moves("progress")
    assert not is_mine("progress", story.events, S1)


@pytest.mark.parametrize("marker", [LeaseExpired(S1, HOST), Deployed(S1, SHA)])
def test_not_mine_once_somebody_else_ended_it(marker: Marker) -> None:
    assert not is_mine("progress", Story().starts(S1).notes(marker).events, S1)


def test_not_mine_where_my_start_was_void() -> None:
    assert not is_mine("progress", Story().starts(S1).starts(S2).events, S2)


def test_the_view_of_a_row() -> None:
    story = Story().starts(S1)
    token, until = story.last.id, story.now + TTL
    assert view_of(story.events) == LeaseView(S1, HOST, "started", token, until)
    assert view_of(story.moves("done").events) is None
    assert view_of([]) is None


# --- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ttl_s", "margin_s"), [(7200, 720), (300, 30), (600, 60), (100, 30), (40, 20), (2, 1)]
)
def test_margin(ttl_s: int, margin_s: int) -> None:
    assert margin_ms(ttl_s * 1000) == margin_s * 1000


@pytest.mark.parametrize(
    ("sent", "trusted", "heartbeat", "due"),
    [(1000, 9000, 2000, 3000), (1000, 3000, 60_000, 2000), (1000, 500, 60_000, 1000)],
)
def test_renewal(sent: int, trusted: int, heartbeat: int, due: int) -> None:
    assert renewal_at(sent, trusted, heartbeat) == due


# --- whatever happens --------------------------------------------------------------------------

acts = st.lists(
    st.tuples(
        st.sampled_from(["start", "renew", "park", "report", "ready", "late", "expire", "move"]),
        st.sampled_from([S1, S2]),
        st.integers(0, 3 * 60 * MINUTE),
        st.sampled_from(["open", "review", "done", "progress"]),
    ),
    max_size=12,
)


def act(story: Story, what: str, session: str, state: State) -> Story:
    match what:
        case "start":
            return story.starts(session)
        case "renew":
            return story.renews(session)
        case "park":
            return story.notes(Parked(session, HOST, "worker", story.now, story.now + TTL))
        case "move":
            return story.moves(state)
        case "expire":
            return story.turns("open", LeaseExpired(session, HOST))
        case _:
            ready, late = what == "ready", what == "late"
            return story.notes(Report(session, SHA, ready=ready, late=late))


@given(acts)
def test_a_live_lease_changes_hands_only_through_an_end(moves) -> None:
    story = Story()
    for what, session, wait, state in moves:
        before = lease_of(story.events)
        story.wait(wait)
        at = story.now + MINUTE
        act(story, what, session, state)
        after = lease_of(story.events)
        if isinstance(before, Lease) and isinstance(after, Lease):
            same = after.session == before.session
            assert same or is_dead(before, at) or before.kind == "ready"
        if story.state != "progress":
            assert not isinstance(after, Lease)
        if what == "late":
            assert after == before
