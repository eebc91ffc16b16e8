"""Records of sessions and hosts: news that machines tell, beside the history."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from edges import Cast, everything, refuses
from hypothesis import given
from hypothesis import strategies as st

from colony.core.records import TAIL_MAX, HostRecord, SessionRecord
from colony.core.texts import lease as lease_texts
from colony.core.ticket import Me, Ref
from colony.errors import ColonyError, Forbidden, Invalid, NotFound, TooLarge
from colony.tracker.protocol import Tracker
from colony.tracker.records import limits

pytestmark = pytest.mark.over("memory", "http")

NAME = "s-20260101T0000-abcdef"
SHOP = Ref("shop", 1)
FULL = SessionRecord(
    id=NAME,
    ref=SHOP,
    host="h1",
    phase="working",
    account="main",
    token=7,
    step="worker",
    started_ms=1_700_000_000_000,
    ended_ms=None,
    cost_usd=1.25,
    last_tool="Edit",
    outcome="",
    report={"summary": "Die Tür ist grün ✓", "steps": [1, None, True, 0.5]},
    verdict={"pass": False},
)
HOST = HostRecord(
    "h1", 4, 2, quota={"five": 0.5}, memory=[1, 2], disk="12 GiB", iteration={"n": 3, "why": None}
)


def shown(cast: Cast) -> object:
    """All but records."""
    return everything(cast.alice)[:4]


def test_a_session_is_shown_as_it_was_told(cast: Cast) -> None:
    cast.ticket()
    cast.clock.ms += 5
    cast.colony.put_session(replace(FULL, updated_ms=1))
    told = replace(FULL, updated_ms=cast.clock.ms)
    assert cast.person("nora").session(NAME) == told
    assert cast.alice.sessions() == (told,)
    least = SessionRecord("s-2", SHOP, "", "new")
    cast.colony.put_session(least)
    assert cast.alice.session("s-2") == replace(least, updated_ms=cast.clock.ms)


def test_a_host_is_shown_as_it_was_told(cast: Cast) -> None:
    cast.colony.put_host(replace(HOST, seen_ms=1))
    cast.colony.put_host(HostRecord("h0", 0, 0))
    assert cast.person("nora").hosts() == (
        HostRecord("h0", 0, 0, seen_ms=cast.clock.ms), replace(HOST, seen_ms=cast.clock.ms),
    )  # fmt: skip


def test_the_newest_word_counts_whole(cast: Cast) -> None:
    """What the newer record leaves out is gone, whoever told it, and whatever its times say."""
    cast.ticket()
    cast.colony.put_session(FULL)
    cast.colony.put_tail(NAME, "at work")
    cast.colony.put_host(HOST)
    cast.clock.ms -= 60_000
    newer = SessionRecord(NAME, SHOP, "h2", "ended", started_ms=1, ended_ms=2)
    cast.colony.put_session(newer)
    cast.colony.put_host(HostRecord("h1", 1, 0))
    assert cast.alice.sessions() == (replace(newer, updated_ms=cast.clock.ms),)
    assert cast.alice.hosts() == (HostRecord("h1", 1, 0, seen_ms=cast.clock.ms),)
    assert cast.alice.tail(NAME) == "at work"


def test_the_same_word_again_is_the_same(cast: Cast) -> None:
    """I4."""
    cast.ticket()
    for _ in range(3):
        cast.colony.put_session(FULL)
        cast.colony.put_tail(NAME, "x")
        cast.colony.put_host(HOST)
    assert (len(cast.alice.sessions()), len(cast.alice.hosts())) == (1, 1)


def test_records_are_no_history(cast: Cast) -> None:
    """No event, no change of the ticket, no step of the counter."""
    cast.ticket()
    cast.colony.me()
    before, end = shown(cast), cast.alice.changes(0).last
    cast.clock.ms += 1000
    cast.colony.put_session(FULL)
    cast.colony.put_tail(NAME, "at work")
    cast.colony.put_host(HOST)
    assert shown(cast) == before
    assert cast.alice.changes(0).last == end


@pytest.mark.parametrize("who", ["owner", "admin", "edit", "use", None])
def test_machines_alone_tell(cast: Cast, who: str | None) -> None:
    cast.ticket()
    cast.colony.put_session(FULL)
    cast.colony.put_tail(NAME, "at work")
    person = cast.alice if who == "owner" else cast.member("bob", who)
    for call in (
        lambda: person.put_session(replace(FULL, phase="ended")),
        lambda: person.put_session(replace(FULL, id="s-new")),
        lambda: person.put_tail(NAME, "forged"),
        lambda: person.put_host(HOST),
    ):
        refuses(Forbidden, call, cast.alice)
    assert cast.alice.tail(NAME) == "at work"


def test_what_is_not_there_is_said(cast: Cast) -> None:
    cast.ticket()
    for ref in (Ref("shop", 2), Ref("barn", 1), Ref("shop", 0), Ref("../x", 1)):
        call = lambda ref=ref: cast.colony.put_session(replace(FULL, ref=ref))  # noqa: E731
        refuses(NotFound, call, cast.alice)
    refuses(NotFound, lambda: cast.colony.put_tail(NAME, "x"), cast.alice)
    with pytest.raises(NotFound):
        cast.alice.session(NAME)
    assert cast.alice.tail(NAME) == ""
    assert cast.alice.sessions() == ()


def test_sessions_can_be_chosen(cast: Cast) -> None:
    refs = [cast.ticket(), cast.ticket(), cast.ticket(project="barn")]
    for at, ref in enumerate(refs):
        for ended in (None, 9):
            record = SessionRecord(f"s{at}{ended}", ref, "h", "x", started_ms=10 - at,
                                   ended_ms=ended)  # fmt: skip
            cast.colony.put_session(record)

    def names(*what: object, running: bool = False) -> list[str]:
        return [each.id for each in cast.alice.sessions(*what, running=running)]  # type: ignore[arg-type]

    # Oldest first.
    assert [each[:2] for each in names()] == ["s2", "s2", "s1", "s1", "s0", "s0"]
    assert set(names("shop")) == {"s0None", "s09", "s1None", "s19"}
    assert set(names("shop", 2)) == {"s1None", "s19"}
    assert set(names(None, 1)) == {"s0None", "s09", "s2None", "s29"}
    assert names("barn", 1, running=True) == ["s2None"]
    assert names(running=True) == ["s2None", "s1None", "s0None"]
    for nothing in (("", None), (None, 0), ("shop", 0), ("shop", -1), ("shop", 10**40),
                    ("yard", None), ("%", None), ("shop' OR 1=1 --", None)):  # fmt: skip
        assert names(*nothing) == [], nothing


# --- whose row it is -----------------------------------------------------------------------


def other_machine(cast: Cast) -> Tracker:
    return cast.edge.tracker(Me("evilbot", "", machine=True, owner=False))


@pytest.mark.parametrize("phase", ["working", "ended"])
def test_a_session_is_of_the_machine_that_told_of_it_first(cast: Cast, phase: str) -> None:
    ref, other = cast.ticket(), cast.ticket()
    cast.colony.put_session(replace(FULL, phase=phase, ended_ms=9))
    cast.colony.put_tail(NAME, "at work")
    evil = other_machine(cast)
    evil.me()
    for call in (
        lambda: evil.put_session(replace(FULL, report={"forged": True})),
        lambda: evil.put_session(replace(FULL, ref=other)),
        lambda: evil.put_tail(NAME, "forged"),
    ):
        assert "another machine's" in refuses(Forbidden, call, cast.alice)
    assert cast.alice.tail(NAME) == "at work"
    cast.colony.put_session(replace(FULL, ref=ref, report={"mine": 1}))
    evil.put_session(replace(FULL, id="s-of-its-own"))
    evil.put_tail("s-of-its-own", "mine")


def test_nobody_comes_before_the_machine_that_took_the_lease(cast: Cast) -> None:
    ref, evil = cast.ticket(), other_machine(cast)
    evil.comment(ref, f"about {NAME}", key=cast.key())
    text = lease_texts.started(NAME, "h1", cast.clock.ms + 60_000)
    cast.colony.move(ref, "progress", key=cast.key(), text=text)
    evil.comment(ref, text, key=cast.key())
    refuses(Forbidden, lambda: evil.put_session(FULL), cast.alice)
    cast.colony.put_session(FULL)


# --- tails ---------------------------------------------------------------------------------


def told_tail(cast: Cast, text: str) -> str:
    cast.ticket()
    cast.colony.put_session(FULL)
    cast.colony.put_tail(NAME, text)
    return cast.alice.tail(NAME)


@pytest.mark.parametrize("sign", ["a", "ä", "€", "🙂"])
def test_a_tail_keeps_its_end_between_characters(cast: Cast, sign: str) -> None:
    for size in (TAIL_MAX - 1, TAIL_MAX, TAIL_MAX + 1, TAIL_MAX + 2, TAIL_MAX + 3, 3 * TAIL_MAX):
        text = "x" * (size % len(sign.encode())) + sign * (size // len(sign.encode())) + "."
        kept = told_tail(cast, text)
        assert text.endswith(kept)
        if len(text.encode()) <= TAIL_MAX:
            assert kept == text
        else:
            assert TAIL_MAX - 4 < len(kept.encode()) <= TAIL_MAX


@given(st.text(max_size=40), st.integers(0, TAIL_MAX))
def test_any_tail_is_an_end_of_what_was_said(end: str, filler: int) -> None:
    said = "é" * filler + end
    clean = said.replace("\0", "\ufffd")
    kept = limits.tail(said)
    assert clean.endswith(kept)
    assert len(kept.encode()) <= TAIL_MAX
    assert kept == clean or len(kept.encode()) > TAIL_MAX - 4


def test_an_empty_tail_clears(cast: Cast) -> None:
    assert told_tail(cast, "x") == "x"
    cast.colony.put_tail(NAME, "")
    assert cast.alice.tail(NAME) == ""


def test_a_tail_keeps_control_characters_and_lines(cast: Cast) -> None:
    text = "one\r\n\x1b[31mtwo\tthree\u202e\n\n"
    assert told_tail(cast, text) == text


# --- what cannot be kept -------------------------------------------------------------------

DEEP: object = 1
for _ in range(100_000):
    DEEP = [DEEP]

BAD_SESSIONS: dict[str, Callable[[], SessionRecord]] = {
    "no name": lambda: replace(FULL, id=""),
    "a name of two lines": lambda: replace(FULL, id="a\nb"),
    "a name that turns around": lambda: replace(FULL, id="a\u202eb"),
    "half a character": lambda: replace(FULL, id="a\ud800"),
    "a long name": lambda: replace(FULL, id="s" * 301),
    "cost not a number": lambda: replace(FULL, cost_usd=math.nan),
    "endless cost": lambda: replace(FULL, cost_usd=math.inf),
    "negative cost": lambda: replace(FULL, cost_usd=-0.01),
    "a huge token": lambda: replace(FULL, token=2**63),
    "a huge time": lambda: replace(FULL, started_ms=10**40),
    "a huge end": lambda: replace(FULL, ended_ms=-(10**40)),
    "a report that is no JSON": lambda: replace(FULL, report={"cost": math.nan}),
    "a verdict that is no JSON": lambda: replace(FULL, verdict=[math.inf]),
    "a large report": lambda: replace(FULL, report="x" * (limits.RECORD_MAX + 1)),
    "a large verdict": lambda: replace(FULL, verdict=["x" * (limits.RECORD_MAX + 1)]),
    "a deep report": lambda: replace(FULL, report=DEEP),  # type: ignore[arg-type]
}
BAD_HOSTS: dict[str, Callable[[], HostRecord]] = {
    "no name": lambda: replace(HOST, name=""),
    "a name of two lines": lambda: replace(HOST, name="a\nb"),
    "a long name": lambda: replace(HOST, name="h" * 301),
    "negative slots": lambda: replace(HOST, slots=-1),
    "huge slots": lambda: replace(HOST, slots=10**40),
    "negative running": lambda: replace(HOST, running=-1),
    "quota that is no JSON": lambda: replace(HOST, quota=math.nan),
    "a large reading": lambda: replace(HOST, memory="x" * (limits.RECORD_MAX + 1)),
    "a deep reading": lambda: replace(HOST, iteration=DEEP),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("record", BAD_SESSIONS.values(), ids=BAD_SESSIONS)
def test_a_session_that_cannot_be_is_refused(
    cast: Cast, record: Callable[[], SessionRecord]
) -> None:
    cast.ticket()
    one_line(cast, lambda: cast.colony.put_session(record()))


@pytest.mark.parametrize("record", BAD_HOSTS.values(), ids=BAD_HOSTS)
def test_a_host_that_cannot_be_is_refused(cast: Cast, record: Callable[[], HostRecord]) -> None:
    one_line(cast, lambda: cast.colony.put_host(record()))


def test_the_refusal_names_the_place(cast: Cast) -> None:
    cast.ticket()
    for report, place in ((math.nan, "report: "), ({"a": [1, math.inf]}, "report.a[1]: "),
                          ([math.nan], "report[0]: ")):  # fmt: skip
        call = lambda report=report: cast.colony.put_session(replace(FULL, report=report))  # noqa: E731
        assert refuses(Invalid, call, cast.alice).startswith(place)


def one_line(cast: Cast, call: Callable[[], object]) -> None:
    before = everything(cast.alice)
    with pytest.raises((Invalid, TooLarge)) as refusal:
        call()
    assert len(str(refusal.value).splitlines()) == 1
    assert everything(cast.alice) == before


HALVES = "a\ud800b\0c\udfff"


def test_words_that_no_database_holds_are_made_storable_or_refused(cast: Cast) -> None:
    """Whatever is kept can be sent on as UTF-8 JSON."""
    cast.ticket()
    odd = replace(
        FULL, host=HALVES, account=HALVES, phase=HALVES, step=HALVES, last_tool=HALVES,
        outcome=HALVES, report={HALVES: [HALVES]}, verdict=HALVES,
    )  # fmt: skip
    calls: tuple[Callable[[], object], ...] = (
        lambda: cast.colony.put_session(odd),
        lambda: cast.colony.put_session(replace(odd, report=None, verdict=None)),
        lambda: cast.colony.put_session(FULL),
        lambda: cast.colony.put_tail(NAME, HALVES),
        lambda: cast.colony.put_host(replace(HOST, quota={HALVES: HALVES}, disk=HALVES)),
        lambda: cast.colony.put_host(HOST),
    )
    for call in calls:
        try:
            call()
        except ColonyError as refusal:
            assert isinstance(refusal, Invalid), refusal
        kept = (cast.alice.sessions(), cast.alice.tail(NAME), cast.alice.hosts())
        json.dumps(repr(kept)).encode()
        for record in cast.alice.sessions():
            json.dumps([record.report, record.verdict], ensure_ascii=False).encode()
        for host in cast.alice.hosts():
            json.dumps([host.quota, host.disk], ensure_ascii=False).encode()
