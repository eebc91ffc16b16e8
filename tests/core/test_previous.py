"""The last session that held a ticket: who, how it ended, and what it named."""

from __future__ import annotations

import pytest
from histories import HOST, S1, S2, S3, SHA, Story
from reports import raw_report

from colony.core.endings import Ending
from colony.core.markers import (
    Deployed,
    LeaseExpired,
    LeaseLine,
    Marker,
    NoVerdict,
    Parked,
    Report,
    Run,
    Verdict,
)
from colony.core.previous import (
    LEFT_OPEN_MAX,
    WORK_COPIES_MAX,
    last_of,
    left_by,
    report_in,
    work_copies,
)
from colony.core.ticket import Ref

SHOP1 = Ref("shop", 1)
DEV = "/srv/shop"


@pytest.mark.parametrize(
    ("line", "ended"),
    [
        (Report(S1, SHA, passed=True), "its result passed the check and was posted"),
        (Report(S1, SHA, half_done=True), "its result is half done"),
        (Report(S1, SHA, passed=True, ready=True), "its result was built and waited for"),
        (Report(S1, SHA, unchecked=True), "its result was posted by hand, unchecked"),
        (Report(S1, SHA, late=True), "its report came after somebody else had taken"),
        (Verdict(S1, 1, 2), "its result failed the check (1 of 2)"),
        (NoVerdict(S1), "its result could not be checked"),
        (
            Run(S1, HOST, "no report", Ending.OUT_OF_STEPS),
            "it left no usable result: the worker had used all its steps",
        ),
        (Run(S1, HOST, "no report", "words of tomorrow"), "it left no usable result"),
        (Run(S1, HOST, "no report"), "it left no usable result"),
        (Run(S1, HOST, "given back", Ending.STOPPED), "it was interrupted: it was stopped"),
        (LeaseExpired(S1, HOST), "it fell silent, and the ticket was taken from it"),
        (Deployed(S1, SHA), "its result was put live"),
        (Parked(S1, HOST, "worker", 1, 2), "it was parked, and did not go on"),
    ],
)
def test_how_it_ended_is_its_own_last_line(line: Marker, ended: str) -> None:
    last = last_of(Story().starts(S1).renews(S1).notes(line).turns("open").history().events)
    assert last is not None
    assert (last.session, last.host, last.sessions) == (S1, HOST, 1)
    assert last.ended.startswith(ended)


def test_a_ticket_that_nobody_held_has_none() -> None:
    assert last_of(Story().says("hello").moves("pending").history().events) is None


def test_one_that_said_nothing_of_its_end() -> None:
    story = Story().starts(S1).moves("open")
    last = last_of(story.history().events)
    assert last is not None
    assert last.ended == "the ticket was moved to open before it said how it ended"


def test_a_park_that_was_over_is_not_how_it_ended() -> None:
    story = Story().starts(S1).notes(Parked(S1, HOST, "worker", 1, 2)).renews(S1).moves("open")
    last = last_of(story.history().events)
    assert last is not None
    assert last.ended.startswith("the ticket was moved to open")


def test_the_last_of_several_and_how_many() -> None:
    story = Story().starts(S1).notes(Run(S1, HOST, "no report")).turns("open")
    story = story.starts(S2, host="elm").notes(Report(S2, SHA, half_done=True)).turns("open")
    last = last_of(story.history().events)
    assert last is not None
    assert (last.session, last.host, last.sessions) == (S2, "elm", 2)


def test_salvage_is_a_lease_too_and_a_late_word_is_none() -> None:
    story = Story().starts(S1).notes(LeaseExpired(S1, HOST)).turns("open")
    story = story.turns("progress", LeaseLine(S2, HOST, "salvage", story.now + 10**7))
    story = story.notes(Run(S2, HOST, "no report")).turns("open").notes(Report(S1, SHA, late=True))
    last = last_of(story.history().events)
    assert last is not None
    assert (last.session, last.sessions) == (S2, 2)


def test_the_session_itself_is_not_its_own_past() -> None:
    story = Story().starts(S1).notes(Report(S1, SHA, half_done=True)).turns("open").starts(S2)
    events = story.history().events
    before = last_of(events, S2)
    assert before is not None
    assert (before.session, before.ended) == (S1, "its result is half done")
    now = last_of(events, S3)
    assert now is not None
    assert (now.session, now.ended) == (S2, "it still has the ticket")
    assert last_of(Story().starts(S1).history().events, S1) is None


def test_a_void_start_held_nothing() -> None:
    """On a tracker without conditions two may write; the order of events decides."""
    story = Story().starts(S1).turns("progress", LeaseLine(S2, HOST, "started", 2 * 10**12))
    story = story.notes(Report(S1, SHA, half_done=True)).turns("open")
    last = last_of(story.history().events)
    assert last is not None
    assert last.session == S1


def test_the_oldest_form_of_a_start_counts() -> None:
    story = Story().moves("progress", f"session {S1} started on elm", by=None).turns("open")
    last = last_of(story.history().events)
    assert last is not None
    assert (last.session, last.host) == (S1, "elm")


# --- what it left ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("built in .scratch/m1, not copied in", ["/srv/shop/.scratch/m1"]),
        ("see ./.scratch/m1.", ["/srv/shop/.scratch/m1"]),
        ("cd /srv/shop/.scratch/m1 && make", ["/srv/shop/.scratch/m1"]),
        ("`.scratch/m1/x.py`, .scratch/m2", [f"{DEV}/.scratch/m1", f"{DEV}/.scratch/m2"]),
        ("/srv/shop/.scratch/m1/.scratch/m2 in .scratch/m1", ["/srv/shop/.scratch/m1"]),
        ("sub/.scratch/v1.2", ["/srv/shop/sub/.scratch/v1.2"]),
        ("(.scratch/m1)", ["/srv/shop/.scratch/m1"]),
        (".scratch/..", []),
        ("../../.scratch/m1", []),
        (".scratch/ alone, and .scratches/x", []),
        ("nothing", []),
    ],
)  # fmt: skip
def test_work_copies_that_are_named(text: str, paths: list[str]) -> None:
    assert list(work_copies([text], DEV)) == paths


def test_they_are_looked_for_wherever_a_report_tells_of_the_work() -> None:
    raw = raw_report(
        result="a, in .scratch/a", done=["b, in .scratch/b"], open=["c, in .scratch/c"],
        verified=[{"claim": "no .scratch/x", "command": "cd .scratch/d", "output": ".scratch/y"}],
        running=[{"what": "w", "url": "u", "pid": 1, "log": ".scratch/e/log"}],
    )  # fmt: skip
    report = report_in(raw, Ref.parse(raw["ticket"]) or SHOP1, raw["session"])
    assert report is not None
    names = sorted(path.rpartition("/")[2] for path in left_by(report, DEV).work_copies)
    assert names == ["a", "b", "c", "d", "e"]
    assert left_by(report, "").work_copies == ()


def test_no_more_than_a_brief_can_use() -> None:
    raw = raw_report(open=[f"item {at} in .scratch/m{at}" for at in range(30)], complete=False)
    report = report_in(raw, Ref.parse(raw["ticket"]) or SHOP1, raw["session"])
    assert report is not None
    left = left_by(report, DEV)
    assert len(left.open) == LEFT_OPEN_MAX
    assert len(left.work_copies) == WORK_COPIES_MAX
    assert left.complete is False


def test_what_is_not_this_sessions_report_is_none() -> None:
    raw = raw_report()
    ref, session = Ref.parse(raw["ticket"]), raw["session"]
    assert ref is not None
    assert report_in(raw, ref, session) is not None
    assert report_in(raw, ref, "s-20260101T0900-ffffff") is None
    assert report_in(raw, Ref("till", 1), session) is None
    for junk in (None, [], "x", 3, {}, raw | {"open": "text"}, raw | {"verified": [1]}):
        assert report_in(junk, ref, session) is None
