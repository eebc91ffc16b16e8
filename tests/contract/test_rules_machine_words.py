"""What a machine writes is no person's word, and what a person types is no machine's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from edges import Cast, event_of, refuses

from colony.core.keywords import accepted
from colony.core.lease import lease_of
from colony.core.markers import (
    Deployed,
    LeaseExpired,
    LeaseLine,
    Marker,
    NoVerdict,
    Parked,
    Report,
    Retry,
    Run,
    Verdict,
    format,
    marker_of,
)
from colony.core.people import people_of
from colony.core.ticket import LeaseView, NewTicket, Ref
from colony.errors import Invalid
from colony.tracker.protocol import Tracker

pytestmark = pytest.mark.over("memory", "http")

MINE, OTHER = "s-20260101T0000-abcdef", "s-20260101T0000-fedcba"
LATER = 1_800_000_000_000
TAKES = format(LeaseLine(MINE, "h1", "started", LATER))
ENDS: tuple[Marker, ...] = (
    Report(MINE, "0123456789ab"),
    Report(MINE, "0123456789ab", ready=True),
    Verdict(MINE, 1, 3),
    NoVerdict(MINE),
    Run(MINE, "h1", "no report"),
    Run(MINE, "h1", "given back"),
    LeaseExpired(MINE, "h1"),
    Deployed(MINE, "0123456789ab"),
)
CHANGES: tuple[Marker, ...] = (
    LeaseLine(MINE, "h2", "renewed", LATER + 1),
    LeaseLine(MINE, "h2", "resumed", LATER + 1, 1),
    LeaseLine(OTHER, "h2", "salvage", LATER + 1),
    LeaseLine(OTHER, "h2", "queued"),
    Parked(MINE, "h1", "worker", LATER, LATER + 1),
    Retry(LATER),
)
WHO = ("owner", "admin", "edit", "use", "none")

Typed = Callable[[Cast, Tracker, Ref, str], object]
WAYS: dict[str, Typed] = {
    "comment": lambda cast, who, ref, line: who.comment(ref, line, key=cast.key()),
    "last line": lambda cast, who, ref, line: who.comment(ref, f"Hi.\n\n{line}\n", key=cast.key()),
    "words to the state": lambda cast, who, ref, line: who.move(
        ref, cast.alice.ticket(ref).ticket.state, text=line, key=cast.key()
    ),
}


def person(cast: Cast, who: str) -> Tracker:
    if who == "owner":
        return cast.alice
    return cast.member("bob", None if who == "none" else who)


def lease(cast: Cast, ref: Ref) -> LeaseView | None:
    row = cast.alice.ticket(ref).ticket
    assert row in cast.alice.tickets()
    return row.lease


# --- a person types a machine line ---------------------------------------------------------


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_typed_line_takes_nothing(cast: Cast, who: str, way: Typed) -> None:
    ref = cast.ticket()
    cast.alice.move(ref, "progress", text="I do it.", key="p")
    typist = person(cast, who)
    for marker in (LeaseLine(MINE, "h1", "started", LATER), *CHANGES, *ENDS):
        way(cast, typist, ref, format(marker))
        assert lease(cast, ref) is None, marker
    way(cast, typist, ref, f"session {MINE} started on h1")
    assert lease(cast, ref) is None
    assert all(marker_of(each) is None for each in cast.alice.ticket(ref).events)


def test_a_person_who_moves_with_a_line_takes_nothing(cast: Cast) -> None:
    ref = cast.ticket()
    cast.alice.move(ref, "progress", text=TAKES, key="p")
    assert lease(cast, ref) is None
    born = cast.ticket(summary=TAKES, state="progress")
    cast.alice.edit(born, subject=TAKES, summary=TAKES, key="e")
    assert lease(cast, born) is None


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_typed_line_changes_no_lease(cast: Cast, who: str, way: Typed) -> None:
    ref = cast.ticket()
    token = event_of(cast.colony.move(ref, "progress", text=TAKES, key="t"))
    held = LeaseView(MINE, "h1", "started", token, LATER)
    assert lease(cast, ref) == held
    typist = person(cast, who)
    for marker in (*ENDS, *CHANGES):
        way(cast, typist, ref, format(marker))
        assert lease(cast, ref) == held, marker
    # The machine's own line still does.
    cast.comment(cast.colony, ref, format(LeaseLine(MINE, "h1", "renewed", LATER + 9)))
    assert lease(cast, ref) == LeaseView(MINE, "h1", "renewed", token, LATER + 9)


def test_a_machine_that_quotes_a_line_in_the_middle_says_nothing_by_it(cast: Cast) -> None:
    ref = cast.ticket()
    cast.colony.move(ref, "progress", text=TAKES, key="t")
    held = lease(cast, ref)
    for marker in ENDS:
        cast.comment(cast.colony, ref, f"Somebody wrote:\n{format(marker)}\nand then left.")
        cast.comment(cast.colony, ref, f"> {format(marker)}")
    assert lease(cast, ref) == held


# --- a machine uses a person's words -------------------------------------------------------


def test_a_machine_gives_no_orders(cast: Cast) -> None:
    ref = cast.person("nora").create(NewTicket("shop", "x"), key="n").ticket.ref
    cast.alice.me()
    cast.comment(cast.alice, ref, "/prio 2")
    for words in ("/prio 9", "/accept", "/hold", "/confirm", "/reject no", "/budget $9", "/resume"):
        cast.comment(cast.colony, ref, words)
        cast.colony.move(ref, "open", text=words, key=cast.key())
    history = cast.alice.ticket(ref)
    assert history.ticket.priority == 2
    assert history.ticket.state == "open"
    assert accepted(history.events, people_of(cast.alice.project("shop"), ())) is None


def test_a_machine_with_a_role_is_still_none(cast: Cast) -> None:
    """It is listed as a member, and its words weigh nothing for that."""
    ref = cast.ticket()
    cast.colony.me()
    cast.alice.set_member("shop", "colony", "edit", key="a")
    cast.comment(cast.colony, ref, "/prio 9")
    cast.comment(cast.colony, ref, "/accept")
    history = cast.alice.ticket(ref)
    assert history.ticket.priority == 0
    assert accepted(history.events, people_of(cast.alice.project("shop"), ("colony",))) is None


@pytest.mark.parametrize("who", [*WHO, "machine"])
def test_every_event_says_whether_a_machine_wrote_it(cast: Cast, who: str) -> None:
    cast.ticket()
    writer = cast.colony if who == "machine" else person(cast, who)
    ref = writer.create(NewTicket("yard", "x"), key="c").ticket.ref
    other = cast.ticket(project="barn")
    writer.comment(ref, "x", key="d")
    if who != "machine":
        writer.set_member("yard", "mia", "use", key="m")
    writer.move(ref, "review", key="e")
    writer.edit(ref, subject="y", key="f")
    writer.block(ref, other, key="g")
    events = [each.event for each in cast.alice.changes(0).events if each.project == "yard"]
    mine = [each for each in events if each.user_id == writer.me().user_id]
    assert {"created", "comment", "state", "edit", "link", "member"} == {e.kind for e in mine}
    assert {each.machine for each in mine} == {who == "machine"}
    assert {each.author for each in mine} == {writer.me().user}
    assert cast.alice.ticket(ref).ticket.machine == (who == "machine")


# --- sources -------------------------------------------------------------------------------


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(
    "source", ["colony", "colony:question:1", "colony-spawn:s:h", "colony-report:1", "colonyx"]
)
def test_sources_that_begin_with_colony_are_no_persons(cast: Cast, who: str, source: str) -> None:
    cast.ticket()
    writer = person(cast, who)
    new = NewTicket("shop", "x", source=source)
    assert "source" in refuses(Invalid, lambda: writer.create(new, key="a"), cast.alice)
    made = cast.colony.create(new, key="b")
    assert made.fresh
    # Not even the one that is there already is given out for it.
    refuses(Invalid, lambda: writer.create(new, key="c"), cast.alice)
    # Nor does such a refusal make a project.
    elsewhere = NewTicket("yard", "x", source=source)
    refuses(Invalid, lambda: writer.create(elsewhere, key="d"), cast.alice)


@pytest.mark.parametrize("source", ["", "mail:colony", "my colony", "x-colony:question"])
def test_other_sources_are_everybodys(cast: Cast, source: str) -> None:
    cast.ticket()
    nora = cast.person("nora")
    first = nora.create(NewTicket("shop", "x", source=source), key="a")
    assert first.fresh
    again = cast.colony.create(NewTicket("shop", "other", "words", source=source), key="b")
    assert again.fresh == (not source)
    if source:
        assert again.ticket == first.ticket


def test_a_source_makes_one_ticket_in_each_project(cast: Cast) -> None:
    """Whoever comes second gets the first one, and writes nothing: not even a role is asked for."""
    first = cast.ticket(source="mail:1", state="done")
    end = cast.alice.changes(0).last
    new = NewTicket("shop", "y", "z", source="mail:1", state="done", parent=first)
    again = cast.person("nora").create(new, key="n")
    assert (again.fresh, again.ticket.ref) == (False, first)
    assert cast.alice.changes(0).last == end
    assert cast.ticket(project="barn", source="mail:1") == Ref("barn", 1)


def test_the_history_alone_says_the_lease(cast: Cast) -> None:
    """What a row shows is what anybody reads out of the events."""
    ref = cast.ticket()
    cast.colony.move(ref, "progress", text=TAKES, key="t")
    cast.comment(cast.alice, ref, format(Report(MINE, "0123456789ab")))
    cast.comment(cast.colony, ref, format(Parked(MINE, "h1", "worker", LATER, LATER + 5)))
    history = cast.alice.ticket(ref)
    held = lease_of(history.events)
    assert history.ticket.lease is not None
    assert held is not None
    assert (history.ticket.lease.kind, history.ticket.lease.until_ms) == ("parked", LATER + 5)
    assert history.ticket.lease.session == held.session
