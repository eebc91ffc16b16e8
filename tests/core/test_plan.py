"""The plan of an iteration: what is done, in which order, and why the rest waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest
from histories import HOST, PEOPLE, S1, S2, S3, SHOP, make_survey, make_ticket, related
from hypothesis import given
from hypothesis import strategies as st

from colony.core.account import Hold
from colony.core.allowance import Quota, Seat
from colony.core.eligible import Ready, Waits, judge
from colony.core.iteration import Iteration, line
from colony.core.pick import Next, Unready, Waiting, pick
from colony.core.plan import (
    Action,
    Ask,
    Expire,
    Kept,
    PlanSettings,
    Probe,
    Refusal,
    Resume,
    Room,
    Start,
    Wait,
    at_stake,
    is_silent,
    plan,
)
from colony.core.quota import Gauge, Level, Levels
from colony.core.spending import Spent
from colony.core.survey import Survey
from colony.core.ticket import STATES, LeaseView, Ref, Ticket

NOW: Final = 1_000_000_000_000
OPEN: Final = Quota()
SETTINGS: Final = PlanSettings(2, (8700, 8729), 10)
PROJECTS: Final = ("shop", "till", "site")
REGISTRY: Final = {name: replace(SHOP, name=name) for name in PROJECTS}
KNOWN: Final = {"registry": REGISTRY, "people": dict.fromkeys(PROJECTS, PEOPLE)}
FOLDERS: Final = {name: f"/srv/{name}" for name in PROJECTS}
"""Each project has a folder of its own."""
SEATS: Final = {name: Seat("claude", "sonnet") for name in PROJECTS}
MINUTE: Final = 60_000
FULL: Final = Gauge("asked", Levels(Level(75, NOW + MINUTE, NOW), Level(5, None, NOW)))


def account(**facts: Any) -> Quota:
    """What an account allows that every project needs."""
    return Quota(**{"agents": frozenset({"claude"}), "seats": SEATS, **facts})


def hold(until_ms: int, kind: Any = "limit", model: str = "", **facts: Any) -> Hold:
    values = {"try_ms": until_ms, "failed_ms": NOW - 2 * MINUTE, "session": S3, **facts}
    return Hold(kind, until_ms, ref=Ref("till", 9), model=model, **values)


def held(until_ms: int, **facts: Any) -> Quota:
    return account(holds=(hold(until_ms, **facts),))


def room(**facts: Any) -> Room:
    return Room(**{"folders": FOLDERS, **facts})


def planned(
    *tickets: Ticket,
    kept: tuple[Kept, ...] = (),
    quota: Quota = OPEN,
    settings: PlanSettings = SETTINGS,
    now_ms: int = NOW,
    **facts: Any,
) -> tuple[Action, ...]:
    survey = make_survey(*tickets, **KNOWN)
    return plan(survey, kept, quota, room(**facts), settings, now_ms)


def session(state: Any, number: int = 1, project: str = "shop", **facts: Any) -> Kept:
    values = {"session": S1, "folder": FOLDERS[project], "ports": (8700, 8709), **facts}
    return Kept(ref=Ref(project, number), state=state, **values)


def leased(
    number: int = 1, project: str = "shop", by: str = S1, until_ms: int | None = NOW - 1, **row: Any
) -> Ticket:
    kind = row.pop("kind", "started")
    view = LeaseView(by, "elm", kind, 3, until_ms)
    return make_ticket(number, project, state="progress", lease=view, **row)


def codes(actions: tuple[Action, ...]) -> list[str]:
    return [each.code for each in actions if isinstance(each, Wait)]


# --- starts --------------------------------------------------------------------------------------


def test_the_order_is_leases_questions_resumes_starts() -> None:
    actions = planned(
        make_ticket(1, "till"),
        leased(2, by=S2),
        make_ticket(3, "attic"),
        leased(1),
        kept=(session("parked"),),
    )
    assert actions == (
        Expire(Ref("shop", 2), leased(2, by=S2).lease),  # type: ignore[arg-type]
        Ask(Unready("attic", "no file", (Ref("attic", 3),))),
        Resume(S1, Ref("shop", 1), (8700, 8709)),
        Start(Ref("till", 1), (8710, 8719)),
    )


def test_starts_are_by_priority_then_age_on_the_lowest_ports() -> None:
    tickets = (make_ticket(2), make_ticket(3, "till", priority=5), make_ticket(1, "site"))
    assert planned(*tickets, settings=replace(SETTINGS, parallel=3)) == (
        Start(Ref("till", 3), (8700, 8709)),
        Start(Ref("site", 1), (8710, 8719)),
        Start(Ref("shop", 2), (8720, 8729)),
    )


@pytest.mark.parametrize(
    ("facts", "code", "reason"),
    [
        ({"paused": frozenset({"shop"})}, "paused", "paused by hand here"),
        ({"paused": frozenset({""})}, "paused", "paused by hand"),
        (
            {"closed_until_ms": NOW + 60_000},
            "hours",
            "outside of COLONY_HOURS until 2001-09-09 01:47 UTC",
        ),
        (
            {"refused": {Ref("shop", 1): Refusal(NOW + 60_000, "no sandbox")}},
            "refused",
            "no sandbox; again after 2001-09-09 01:47 UTC",
        ),
        ({"quota": held(NOW + 60_000)}, "held",
         "usage limit reached until 2001-09-09 01:47 UTC"),
        ({"quota": held(NOW + 60_000, kind="login")}, "held",
         "the coding agent is not logged in until 2001-09-09 01:47 UTC"),
        ({"quota": held(NOW + 60_000, kind="model", model="sonnet")}, "held",
         "the model is not to be had (sonnet) until 2001-09-09 01:47 UTC"),
        ({"quota": account(gauge=FULL)}, "quota",
         "5 h 75% ≥ reserve 70% until 2001-09-09 01:47 UTC"),
        ({"quota": account(stale=True)}, "quota", "the quota is read first"),
        ({"quota": Quota(spent=Spent(20.1, 20.0, NOW + 60_000))}, "day",
         "spent $20.10 of $20.00 today until 2001-09-09 01:47 UTC"),
        ({"quota": held(NOW), "kept": (session("running", 1, "till"),)}, "tries",
         f"{S1} tries first: usage limit reached before"),
        ({"kept": (session("left", 2, due_ms=NOW + 1),)}, "folder",
         f"session {S1} is left in its folder"),
        ({"kept": (session("running", 2),)}, "folder", "shop#2 is worked on in its folder"),
        ({"kept": (session("running", 1, folder="/elsewhere"),)}, "kept",
         f"session {S1} of this host is on it"),
        ({"settings": replace(SETTINGS, parallel=1),
          "kept": (session("running", 1, "till"),)}, "slots", "1 at once"),
        ({"blocked": ((8705, 8725),)}, "ports", "no free range of ports"),
    ],
)  # fmt: skip
def test_why_an_eligible_ticket_is_not_started(
    facts: dict[str, Any], code: str, reason: str
) -> None:
    actions = planned(make_ticket(), **facts)
    assert actions[-1] == Wait(Ref("shop", 1), code, reason)
    assert not [each for each in actions if isinstance(each, Start)]


@pytest.mark.parametrize(
    "facts",
    [
        {"paused": frozenset({"till"})},
        {"refused": {Ref("shop", 1): Refusal(NOW, "no sandbox")}},
        {"quota": held(NOW)},
        {"quota": held(NOW + 1, try_ms=NOW)},
        {"quota": held(NOW + 1, kind="model", model="opus")},
        {"quota": replace(held(NOW + 1), agents=frozenset())},
        {"quota": replace(held(NOW + 1), seats={})},
        {"quota": account(gauge=FULL, agents=frozenset())},
        {"quota": account(stale=True, agents=frozenset())},
        {"quota": Quota(spent=Spent(19.9, 20.0, NOW + 60_000))},
        {
            "quota": held(NOW),
            "kept": (session("running", 1, "till", answered=True, ports=(8710, 8719)),),
        },
        {
            "quota": held(NOW),
            "kept": (session("running", 1, "till", posts=True, ports=(8710, 8719)),),
        },
        {
            "quota": held(NOW),
            "kept": (
                session("running", 1, "till", ports=(8710, 8719), asked_ms=NOW - 2 * MINUTE - 1),
            ),
        },
        {
            "quota": held(NOW),
            "kept": (session("running", 1, "till", ports=(8710, 8719), seat=Seat("stand-in")),),
        },
        {
            "quota": held(NOW, kind="model", model="sonnet"),
            "kept": (
                session("running", 1, "till", ports=(8710, 8719), seat=Seat("claude", "opus")),
            ),
        },
        {"kept": (session("resting", 1),)},
        {"kept": (session("left", 2, posts=True, due_ms=NOW + 1),)},
        {"kept": (session("running", 1, "till", ports=(8710, 8719)),)},
        {"blocked": ((8710, 8719),)},
    ],
)
def test_what_holds_no_start(facts: dict[str, Any]) -> None:
    """Each is the neighbour of a case above: over, another's, or no claim on the folder."""
    assert Start(Ref("shop", 1), (8700, 8709)) in planned(make_ticket(), **facts)


def test_the_hours_hold_starts_and_nothing_that_was_begun() -> None:
    """What is left or parked goes on, a dead lease is expired, a project is asked about."""
    rows = (make_ticket(1), leased(2, "till"), leased(3, by=S2), make_ticket(4, "attic"))
    actions = planned(
        *rows, kept=(session("left", 2, "till", session=S1),), closed_until_ms=NOW + 60_000
    )
    assert [type(each) for each in actions] == [Expire, Ask, Resume, Wait]
    assert codes(actions) == ["hours"]


def test_when_a_refused_start_is_tried_again_is_told_however_long_its_reason() -> None:
    refused = {Ref("shop", 1): Refusal(NOW + 60_000, "no such file: /" + "a" * 300)}
    [wait] = planned(make_ticket(1), refused=refused)
    assert isinstance(wait, Wait)
    told = line(Iteration(1, NOW, running=0, parallel=1, waiting=[wait])).as_text()
    assert "again after 20" in told
    assert told.count("a" * 60) == 1


def test_one_that_cannot_start_does_not_hold_up_those_behind_it() -> None:
    refused = {Ref("shop", 1): Refusal(NOW + 1, "no sandbox")}
    actions = planned(make_ticket(1, priority=9), make_ticket(1, "till"), refused=refused)
    assert [type(each) for each in actions] == [Wait, Start]


def test_no_more_than_so_many_at_once() -> None:
    rows = (make_ticket(1), make_ticket(2, "till"), leased(3, "site"))
    one = session("left", 3, "site")
    actions = planned(*rows, kept=(one,))
    assert [type(each) for each in actions] == [Resume, Start, Wait]
    assert codes(actions) == ["slots"]
    single = replace(SETTINGS, parallel=1)
    assert codes(planned(*rows, kept=(one,), settings=single)) == ["slots", "slots"]


def test_a_slot_is_the_process_not_the_ticket() -> None:
    """F4: a person closed the ticket while its session still ran."""
    closed = make_ticket(1, "till", state="done")
    one = replace(SETTINGS, parallel=1)
    assert codes(
        planned(closed, make_ticket(), kept=(session("running", 1, "till"),), settings=one)
    )
    assert not codes(planned(closed, make_ticket(), settings=one))


def test_one_that_posts_keeps_its_slot_and_ports_to_its_end_and_no_folder() -> None:
    """Its process is there until its lock is free; of its folder it needs nothing more."""
    kept = (session("running", 1, posts=True),)
    assert planned(make_ticket(2), kept=kept) == (Start(Ref("shop", 2), (8710, 8719)),)
    single = replace(SETTINGS, parallel=1)
    assert codes(planned(make_ticket(2), kept=kept, settings=single)) == ["slots"]


def test_when_it_stops_nothing_is_done() -> None:
    tickets = (make_ticket(1, "till"), leased(2, by=S2), make_ticket(3, "attic"))
    assert planned(*tickets, kept=(session("left", posts=True),), stopping=True) == ()


# --- what was begun ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "facts", "code"),
    [
        (session("parked", due_ms=NOW + 1), {}, "parked"),
        (session("left", due_ms=NOW + 1), {}, "backoff"),
        (session("left", due_ms=NOW + 1, posts=True), {}, "backoff"),
        (session("left", again_ms=NOW + 1), {}, "backoff"),
        (session("parked", again_ms=NOW + 1, awaits=True), {}, "backoff"),
        (session("parked", again_ms=NOW + 1, wanted=True), {}, "backoff"),
        (session("left"), {"paused": frozenset({"shop"})}, "paused"),
        (session("left"), {"quota": held(NOW + 1)}, "held"),
        (session("left"), {"quota": account(stale=True)}, "quota"),
        (session("left"), {"quota": Quota(spent=Spent(1.0, 1.0, NOW + 1))}, "day"),
        (session("parked", awaits=True), {"quota": held(NOW + 1)}, "parked"),
        (session("parked", awaits=True, due_ms=NOW + 1), {"quota": Quota()}, "parked"),
        (
            session("parked", seat=Seat("claude", "opus")),
            {"quota": held(NOW + 1, kind="model", model="opus")},
            "held",
        ),
        (session("left"), {"settings": replace(SETTINGS, parallel=0)}, "slots"),
        (session("left"), {"blocked": ((8700, 8729),)}, "ports"),
    ],
)
def test_why_a_session_does_not_go_on(one: Kept, facts: dict[str, Any], code: str) -> None:
    [wait] = [each for each in planned(leased(), kept=(one,), **facts) if each != Probe()]
    assert isinstance(wait, Wait)
    assert (wait.ref, wait.code, wait.session) == (one.ref, code, S1)


@pytest.mark.parametrize("state", ["parked", "left"])
def test_a_session_goes_on_at_the_very_moment_it_is_due(state: Any) -> None:
    assert planned(leased(), kept=(session(state, due_ms=NOW, again_ms=NOW),)) == (
        Resume(S1, Ref("shop", 1), (8700, 8709)),
    )


def test_what_runs_or_rests_is_left_alone() -> None:
    for state in ("running", "resting"):
        assert planned(leased(), kept=(session(state),)) == ()


@pytest.mark.parametrize(
    "row", [leased(until_ms=NOW + 1), leased(), make_ticket(1, state="review"), leased(by=S2)]
)
def test_an_outbox_needs_no_agent_no_slot_and_no_folder(row: Ticket) -> None:
    one = session("left", posts=True)
    actions = planned(
        row,
        kept=(one, session("running", 2, session=S3)),
        settings=replace(SETTINGS, parallel=0),
        quota=replace(held(NOW + 1), stale=True, gauge=FULL, spent=Spent(1.0, 1.0, NOW + 1)),
        paused=frozenset({""}),
        blocked=((8700, 8729),),
        expiries=0,
    )
    assert Resume(S1, Ref("shop", 1), None) in actions


@pytest.mark.parametrize(
    ("row", "checks", "ends"),
    [
        (make_ticket(1, state="review"), False, True),
        (make_ticket(1, state="open"), False, True),
        (leased(by=S2, until_ms=NOW + 1), False, True),
        (leased(by=S2, until_ms=NOW + 1), True, True),
        (leased(until_ms=NOW - 1), False, False),
        (make_ticket(1, state="progress"), False, False),
        (make_ticket(2, "till", state="done"), False, False),
        # Its result is checked wherever a person has moved the ticket, and that takes an agent.
        (make_ticket(1, state="review"), True, False),
    ],
)
def test_a_parked_session_that_lost_its_ticket_ends_at_once(
    row: Ticket, checks: bool, ends: bool
) -> None:
    one = session("parked", due_ms=NOW + 1, checks=checks)
    [action, *_] = planned(row, kept=(one,))
    assert (action == Resume(S1, Ref("shop", 1), None)) is ends
    [action, *_] = planned(row, kept=(replace(one, again_ms=NOW + 1),))
    assert isinstance(action, Wait), "it could not find out, a moment ago"


def test_a_resume_is_not_held_against_needs() -> None:
    survey = make_survey(leased(), registry={"shop": replace(SHOP, needs=("gpu",))})
    [action] = plan(survey, (session("left"),), OPEN, room(), SETTINGS, NOW)
    assert isinstance(action, Resume)


def test_two_sessions_of_one_ticket_never_run_at_once() -> None:
    """Its dev folder was moved in between: the folders do not tell."""
    kept = (session("left"), session("left", session=S2, folder="/srv/before"))
    first, second = planned(leased(), kept=kept)
    assert isinstance(first, Resume)
    assert isinstance(second, Wait)
    assert second.code == "busy"
    assert first.session in second.reason


def test_one_that_only_posts_does_not_hold_up_the_session_that_works_on_the_ticket() -> None:
    late = session("running", posts=True)
    other = session("left", session=S2)
    assert planned(leased(by=S2), kept=(late, other)) == (Resume(S2, Ref("shop", 1), (8710, 8719)),)


# --- the account ---------------------------------------------------------------------------------

WIDE: Final = PlanSettings(5, (8700, 8799), 10)


def many() -> tuple[Ticket, ...]:
    return tuple(make_ticket(1, name) for name in PROJECTS)


def test_after_a_hold_one_goes_first_and_the_others_wait() -> None:
    assert [type(each) for each in planned(*many(), settings=WIDE)] == [Start] * 3
    actions = planned(*many(), settings=WIDE, quota=held(NOW))
    assert actions == (
        Start(Ref("shop", 1), (8700, 8709)),
        Wait(Ref("site", 1), "tries", "shop#1 tries first: usage limit reached before"),
        Wait(Ref("till", 1), "tries", "shop#1 tries first: usage limit reached before"),
    )


def test_what_was_parked_goes_before_what_is_new_and_goes_alone() -> None:
    kept = (
        session("parked", awaits=True, due_ms=NOW + 9 * MINUTE),
        session("parked", 1, "till", session=S2, awaits=True),
    )
    rows = (leased(), leased(1, "till", by=S2), make_ticket(1, "site"))
    first, *others = planned(*rows, kept=kept, settings=WIDE, quota=held(NOW))
    assert first == Resume(S1, Ref("shop", 1), (8700, 8709))
    assert [(type(each), each.code) for each in others if isinstance(each, Wait)] == [
        (Wait, "tries"),
        (Wait, "tries"),
    ]


def test_one_that_is_taken_up_tries_whatever_it_was_told_before() -> None:
    one = session("parked", answered=True)
    actions = planned(leased(), make_ticket(1, "till"), kept=(one,), quota=held(NOW - 1))
    assert [type(each) for each in actions] == [Resume, Wait]


def test_what_its_account_parked_goes_on_as_soon_as_that_is_free() -> None:
    one = session("parked", awaits=True, due_ms=NOW + 9 * MINUTE)
    assert planned(leased(), kept=(one,), quota=account()) == (
        Resume(S1, Ref("shop", 1), (8700, 8709)),
    )
    by_hand = session("parked", due_ms=NOW + 9 * MINUTE)
    [wait] = planned(leased(), kept=(by_hand,), quota=account())
    assert isinstance(wait, Wait)


def test_what_a_person_wants_goes_on_whatever_holds_its_account() -> None:
    one = session("parked", awaits=True, wanted=True, due_ms=NOW)
    goes = (Resume(S1, Ref("shop", 1), (8700, 8709)),)
    day = Quota(spent=Spent(1.0, 1.0, NOW + 1))
    for quota in (held(NOW + 1), account(stale=True), account(gauge=FULL), day):
        assert planned(leased(), kept=(one,), quota=quota) == goes
    [wait] = planned(leased(), kept=(one,), quota=held(NOW + 1), paused=frozenset({""}))
    assert isinstance(wait, Wait)


def test_a_model_that_is_tried_keeps_only_its_own_waiting() -> None:
    quota = replace(
        held(NOW, kind="model", model="opus"),
        seats={"shop": Seat("claude", "opus"), "till": Seat("claude", "opus"), "site": Seat("c")},
    )
    actions = planned(*many(), settings=WIDE, quota=quota)
    assert [type(each) for each in actions] == [Start, Start, Wait]
    assert codes(actions) == ["tries"]


def test_the_quota_is_read_only_where_something_would_begin() -> None:
    stale = account(stale=True)
    rows = (make_ticket(), make_ticket(2))
    actions = planned(*rows, quota=stale)
    assert actions[0] == Probe()
    assert codes(actions) == ["quota", "quota"]
    for facts in (
        {"settings": replace(SETTINGS, parallel=0)},
        {"paused": frozenset({""})},
        {"blocked": ((8700, 8729),)},
        {"quota": replace(stale, holds=(hold(NOW + 1),))},
        {"quota": replace(stale, spent=Spent(1.0, 1.0, NOW + 1))},
        {"quota": replace(stale, agents=frozenset())},
    ):
        assert Probe() not in planned(*rows, **{"quota": stale, **facts})
    assert Probe() not in planned(quota=stale), "nothing waits"
    assert Probe() not in planned(quota=stale, kept=(session("left", posts=True),))


def test_an_old_reading_holds_nothing_by_itself() -> None:
    """It is read anew, and only then it counts."""
    assert Probe() in planned(make_ticket(), quota=account(stale=True, gauge=FULL))


def test_when_to_look_again() -> None:
    quota = replace(held(NOW + 5, try_ms=NOW + 3), spent=Spent(1.0, 1.0, NOW + 9))
    assert quota.wake_ms(NOW) == NOW + 3
    assert quota.wake_ms(NOW + 3) == NOW + 9
    assert account().wake_ms(NOW) is None


# --- expiry --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row",
    [
        leased(until_ms=NOW),
        leased(until_ms=None),
        leased(kind="ready", until_ms=NOW - 1),
        leased(kind="queued", until_ms=None),
        make_ticket(1, state="progress"),
        replace(leased(), state="review"),
    ],
)
def test_what_is_never_expired(row: Ticket) -> None:
    assert not [each for each in planned(row) if isinstance(each, Expire)]


def test_what_never_dies_makes_no_crowd_smaller() -> None:
    """The brake counts leases that can die: those that wait for a deploy would hide an outage."""
    dies = leased(2, by=S2, until_ms=NOW + 1)
    rows = (dies, leased(3, kind="ready", until_ms=NOW + 1), leased(4, until_ms=None))
    assert at_stake(make_survey(*rows, **KNOWN), (), frozenset()) == (dies,)


def test_expiry_goes_by_the_trackers_clock() -> None:
    survey = make_survey(leased(until_ms=NOW), **KNOWN, now_ms=NOW + 1)
    assert plan(survey, (), OPEN, room(), SETTINGS, 0) == (
        Expire(Ref("shop", 1), leased(until_ms=NOW).lease),  # type: ignore[arg-type]
    )
    assert not planned(leased(until_ms=NOW), now_ms=NOW + 10**9)


@pytest.mark.parametrize("state", ["running", "parked", "left", "resting"])
def test_what_is_kept_here_is_not_expired_from_here(state: Any) -> None:
    actions = planned(leased(), kept=(session(state),))
    assert not [each for each in actions if isinstance(each, Expire)]
    assert planned(leased(), unreadable=frozenset({S1})) == ()


@pytest.mark.parametrize(
    ("expiries", "numbers"), [(0, []), (1, [2]), (2, [2, 3]), (None, [2, 3, 1])]
)
def test_the_brake_limits_it_to_the_oldest(expiries: int | None, numbers: list[int]) -> None:
    rows = [leased(1, until_ms=NOW - 1), leased(2, until_ms=NOW - 9), leased(3, until_ms=NOW - 5)]
    actions = planned(*rows, expiries=expiries)
    assert [each.ref.number for each in actions if isinstance(each, Expire)] == numbers


# --- whatever the world looks like ---------------------------------------------------------------

_MOMENTS: Final = st.sampled_from([NOW - 60_000, NOW - 1, NOW, NOW + 1, NOW + 60_000])
_REFS: Final = st.builds(Ref, st.sampled_from(PROJECTS), st.integers(1, 4))
_BLOCKS: Final = st.sampled_from([(8700, 8709), (8710, 8719), (8720, 8729), (8695, 8704)])


@st.composite
def tickets(draw: st.DrawFn) -> tuple[Ticket, ...]:
    found = []
    for ref in draw(st.lists(_REFS, unique=True, max_size=9)):
        state = draw(st.sampled_from([*STATES, "open", "open", "progress"]))
        lease = None
        if state == "progress" and draw(st.booleans()):
            kind = draw(st.sampled_from(["started", "renewed", "parked", "ready", "queued"]))
            until_ms = draw(st.none() | _MOMENTS)
            lease = LeaseView(draw(st.sampled_from([S1, S2, S3])), HOST, kind, 3, until_ms)
        blockers = (related(99),) if draw(st.integers(0, 4)) == 0 else ()
        priority = draw(st.integers(-2, 2))
        found.append(
            make_ticket(
                ref.number, ref.project,
                state=state, lease=lease, blocked_by=blockers, priority=priority,
            )
        )  # fmt: skip
    return tuple(found)


@st.composite
def sessions(draw: st.DrawFn) -> tuple[Kept, ...]:
    """As a host keeps them: what runs has folders and ports of its own."""
    found: list[Kept] = []
    for name in draw(st.lists(st.sampled_from([S1, S2, S3]), unique=True)):
        ref, ports = draw(_REFS), draw(_BLOCKS)
        state = draw(st.sampled_from(["running", "parked", "left", "resting"]))
        folder = FOLDERS[ref.project]
        for other in found:
            if other.state == state == "running" and (
                other.folder == folder or _meet(other.ports, ports)
            ):
                state = "parked"
        posts, checks = draw(st.booleans()) and state == "left", draw(st.booleans())
        due_ms = draw(_MOMENTS)
        more = {"awaits": draw(st.booleans()), "answered": draw(st.booleans())}
        found.append(Kept(name, ref, folder, ports, state, due_ms, "", posts, checks, **more))
    return tuple(found)


@st.composite
def quotas(draw: st.DrawFn) -> Quota:
    """Some need the account, some do not; it is free, held, or to be tried."""
    seats = {name: Seat(draw(st.sampled_from(["claude", "stand-in"]))) for name in PROJECTS}
    kinds = draw(st.sets(st.sampled_from(["limit", "login"])))
    holds = tuple(hold(draw(_MOMENTS), kind) for kind in sorted(kinds))
    gauge = draw(st.sampled_from([FULL, Gauge("events"), Gauge("events")]))
    return account(seats=seats, holds=holds, stale=draw(st.booleans()), gauge=gauge)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Survey, tuple[Kept, ...], Quota, Room, PlanSettings]:
    facts = {
        "blocked": tuple(draw(st.lists(_BLOCKS, max_size=1))),
        "paused": frozenset(draw(st.sets(st.sampled_from(["", "shop"]), max_size=1))),
        "stopping": draw(st.integers(0, 9)) == 0,
        "refused": {ref: Refusal(NOW + 1, "no") for ref in draw(st.sets(_REFS, max_size=2))},
        "expiries": draw(st.sampled_from([None, 0, 1])),
    }
    quota = draw(quotas())
    survey = make_survey(*draw(tickets()), **KNOWN)
    settings = replace(SETTINGS, parallel=draw(st.integers(1, 4)))
    return survey, draw(sessions()), quota, room(**facts), settings


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


@given(world=worlds())
def test_no_plan_lets_two_meet(world: Any) -> None:
    """Never more than allowed, never two in one folder, in one range, on one ticket."""
    _, kept, _, around, settings = world
    actions = plan(*world, NOW)
    by_name = {one.session: one for one in kept}
    running = [one for one in kept if one.state == "running"]
    begun = [each for each in actions if isinstance(each, Start)]
    resumed = [each for each in actions if isinstance(each, Resume) and each.ports is not None]
    agents = len(begun) + len(resumed)
    assert agents == 0 or agents + len(running) <= settings.parallel
    folders = [one.folder for one in running]
    folders += [by_name[each.session].folder for each in resumed]
    folders += [FOLDERS[each.ref.project] for each in begun]
    assert len(set(folders)) == len(folders)
    ranges = [each.ports for each in (*begun, *resumed) if each.ports is not None]
    low, high = settings.pool
    for at, one in enumerate(ranges):
        assert low <= one[0] <= one[1] <= high
        assert one[1] - one[0] + 1 == settings.ports_per_session
        others = [*ranges[:at], *around.blocked, *(each.ports for each in running)]
        assert not [other for other in others if _meet(one, other)]
    refs = [each.ref for each in (*begun, *resumed)]
    assert len(set(refs)) == len(refs)
    assert not {each.ref for each in begun} & {one.ref for one in kept if one.state != "resting"}
    names = [each.session for each in actions if isinstance(each, Resume)]
    assert len(set(names)) == len(names)
    assert not [name for name in names if by_name[name].state in ("running", "resting")]


@given(world=worlds())
def test_no_plan_begins_more_than_one_try_on_an_account(world: Any) -> None:
    survey, kept, quota, _, _ = world
    actions = plan(*world, NOW)
    by_name = {one.session: one for one in kept}
    begun = [each.ref.project for each in actions if isinstance(each, Start)]
    begun += [
        by_name[each.session].ref.project
        for each in actions
        if isinstance(each, Resume) and each.ports is not None
    ]
    mine = [name for name in begun if quota.needed_by(quota.seat_of(name))]
    asking = [
        one for one in kept if one.state == "running" and not one.posts and not one.answered
        and quota.needed_by(quota.seat_of(one.ref.project))
    ]  # fmt: skip
    if quota.stale or quota.gauge.against or any(each.until_ms > NOW for each in quota.holds):
        assert not mine
    elif quota.holds:
        assert len(mine) <= (0 if asking else 1)
    probes = [each for each in actions if isinstance(each, Probe)]
    assert len(probes) <= (1 if quota.stale else 0)
    assert survey is world[0]


@given(world=worlds())
def test_no_plan_starts_or_expires_what_it_may_not(world: Any) -> None:
    survey, kept, _, around, _ = world
    rows = {row.ref: row for row in survey.tickets}
    actions = plan(*world, NOW)
    expired = [each for each in actions if isinstance(each, Expire)]
    assert around.expiries is None or len(expired) <= around.expiries
    for each in actions:
        if isinstance(each, Start):
            assert isinstance(judge(rows[each.ref], survey), Ready)
        if isinstance(each, Expire):
            assert is_silent(rows[each.ref], survey.now_ms)
            assert each.lease.session not in {one.session for one in kept}
            assert rows[each.ref] in at_stake(survey, kept, around.unreadable)
    assert len({each.ref for each in expired}) == len(expired)


@given(world=worlds())
def test_every_eligible_ticket_is_started_or_told_why_not(world: Any) -> None:
    survey, kept, _, around, _ = world
    actions = plan(*world, NOW)
    if around.stopping:
        assert actions == ()
        return
    # Of a ticket whose own session goes on or waits, that is said, and once.
    newest = {one.ref: one for one in kept if one.state != "resting"}
    told = {ref for ref, one in newest.items() if one.state != "running"}
    named = [each.ref for each in actions if isinstance(each, Start)]
    named += [each.ref for each in actions if isinstance(each, Wait) and not each.session]
    eligible = [one.ticket.ref for one in pick(survey).eligible]
    assert sorted(named) == sorted(ref for ref in eligible if ref not in told)


@given(world=worlds())
def test_with_all_free_what_comes_first_is_started(world: Any) -> None:
    """I6: nothing is kept from starting but by a reason."""
    survey = world[0]
    free = PlanSettings(len(PROJECTS), (8700, 8799), 10)
    starts = [
        each.ref for each in plan(survey, (), OPEN, room(), free, NOW) if isinstance(each, Start)
    ]
    first: dict[str, Ref] = {}
    for one in pick(survey).eligible:
        first.setdefault(one.ticket.ref.project, one.ticket.ref)
    assert starts == list(first.values())


@given(world=worlds(), dice=st.randoms(use_true_random=False))
def test_the_same_world_gives_the_same_plan(world: Any, dice: Any) -> None:
    survey, *rest = world
    rows = list(survey.tickets)
    dice.shuffle(rows)
    assert plan(replace(survey, tickets=tuple(rows)), *rest, NOW) == plan(*world, NOW)


@pytest.mark.parametrize(
    ("code", "said"),
    [("budget", True), ("starts", True), ("reviews", True), ("asked", True), ("blocked", False)],
)
def test_work_that_a_cap_or_a_question_keeps_is_named(
    monkeypatch: pytest.MonkeyPatch, code: Any, said: bool
) -> None:
    one = Waiting(make_ticket(1), Waits(code, "because"))
    found = Next((), (one,), {}, ())
    monkeypatch.setattr("colony.core.plan.pick", lambda _: found)
    waits = plan(make_survey(), (), OPEN, Room(folders=FOLDERS), SETTINGS, NOW)
    assert waits == ((Wait(one.ticket.ref, code, "because"),) if said else ())
