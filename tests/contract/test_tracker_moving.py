"""A whole tracker as lines, and back: nothing is lost, and nothing strange is let in."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from edges import DERIVE, Cast, Clock, EmbeddedEdge, everything, in_memory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from colony.core.records import HostRecord, SessionRecord
from colony.core.texts import lease as lease_texts
from colony.core.ticket import STATES, TEXT_MAX, Me
from colony.errors import ColonyError, Forbidden, Refused
from colony.tracker.moving.arrival import take
from colony.tracker.moving.export import lines
from colony.tracker.places import engine_at
from colony.tracker.protocol import Tracker, Written
from colony.tracker.service import Service

AT = 1_700_000_000_000
SESSION = "s-20260131T1819-abc123"
WORDS = st.sampled_from([
    "plain", "/prio high", "/prio low", "/hold", "zwei\nZeilen\r\n\u2028 \u0085", "\u202e\x1b[2J",
    '{"row":"end"}', "\ud800 half", "nul \0", "😀" * 20, "x" * 3000,
    lease_texts.renewed(SESSION, "here", AT + 10**9), lease_texts.expired(SESSION, "here"),
])  # fmt: skip


def exported(edge: EmbeddedEdge, at_ms: int = AT) -> bytes:
    return b"".join(lines(edge.service._engine, at_ms))


def imported(data: bytes) -> EmbeddedEdge:
    engine = engine_at("sqlite:///:memory:", create=True, timeout_s=1)
    clock = Clock()
    try:
        take(engine, io.BytesIO(data), DERIVE)
    except BaseException:
        engine.close()
        raise
    return EmbeddedEdge(Service(engine, clock, DERIVE), clock)


def records(tracker: Tracker) -> tuple[object, ...]:
    return tracker.sessions(), tracker.hosts(), tracker.tail(SESSION)


def _step(draw: st.DrawFn, cast: Cast) -> None:
    whos: list[Callable[[], Tracker]] = [
        lambda: cast.alice, lambda: cast.colony, lambda: cast.person("bob"),
        lambda: cast.person("zoe", owner=True),
    ]  # fmt: skip
    cast.clock.ms += draw(st.integers(-1000, 10_000_000))
    refs = [ticket.ref for ticket in cast.alice.tickets()]
    ref, other = draw(st.sampled_from(refs)), draw(st.sampled_from(refs))
    who, text = draw(st.sampled_from(whos))(), draw(WORDS)
    state = draw(st.sampled_from(STATES))
    steps: list[Callable[[], object]] = [
        lambda: cast.ticket(text, project=draw(st.sampled_from(["shop", "a.b-c"])),
                            summary=text, source=draw(st.sampled_from(["", "x", "y"]))),
        lambda: who.comment(ref, text, key=cast.key()),
        lambda: who.move(ref, state, key=cast.key(), text=text),
        lambda: who.edit(ref, key=cast.key(), subject=text, summary=text + text),
        lambda: who.block(ref, other, key=cast.key(), remove=draw(st.booleans())),
        lambda: who.set_parent(ref, draw(st.sampled_from([None, other])), key=cast.key()),
        lambda: cast.alice.set_member(
            "shop", draw(st.sampled_from(["bob", "dan"])),
            draw(st.sampled_from(["admin", "edit", "use", None])), key=cast.key()),
        lambda: cast.colony.move(ref, "progress", key=cast.key(), text=lease_texts.started(
            SESSION, "here", cast.clock.ms + 60_000)),
        lambda: cast.colony.put_session(SessionRecord(
            SESSION, ref, "here", "working", token=draw(st.sampled_from([None, 3])),
            cost_usd=draw(st.floats(0, 1e9)), report={"text": text, "n": [1, None]})),
        lambda: cast.colony.put_tail(SESSION, text),
        lambda: cast.colony.put_host(HostRecord("here", 2, 1, quota={"5h": 0.5}, disk=text)),
        lambda: cast.alice.add_project(draw(st.sampled_from(["empty", "shop"])),
                                       key=cast.key()),
    ]  # fmt: skip
    draw(st.sampled_from(steps))()


@st.composite
def stories(draw: st.DrawFn) -> EmbeddedEdge:
    """A tracker that the real service filled; what it refuses is left out."""
    edge = in_memory()
    cast = Cast(edge)
    cast.ticket("first")
    for _ in range(draw(st.integers(0, 25))):
        try:
            _step(draw, cast)
        except ColonyError:
            continue
    return edge


@pytest.mark.long
@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(stories())
def test_nothing_is_lost_on_the_way(edge: EmbeddedEdge) -> None:
    data = exported(edge)
    there = imported(data)
    assert exported(there) == data
    mine, theirs = Cast(edge).alice, Cast(there).alice
    # Rows show lease and priority, which were worked out anew.
    assert everything(theirs) == everything(mine)
    assert records(theirs) == records(mine)
    # Both go on alike: ids, numbers and keys.
    for cast in (Cast(edge), Cast(there)):
        cast.clock.ms = AT + 10**11
        cast.person("new one").comment(cast.ticket("more"), "hello", key="fresh")
        cast.alice.set_member("shop", "new one", "edit", key="member")
    assert everything(theirs) == everything(mine)
    edge.service.close()
    there.service.close()


def test_on_whose_behalf_a_machine_moved_a_ticket_moves_with_it() -> None:
    edge = in_memory()
    cast = Cast(edge)
    ref = cast.ticket()
    cast.colony.move(ref, "review", key="r")
    asked = cast.comment(cast.alice, ref, "/confirm")
    moved = cast.colony.move(ref, "done", key="d", on_behalf=asked)
    assert isinstance(moved, Written)
    data = exported(edge)
    there = imported(data)
    for each in (data, exported(there)):
        rows = [json.loads(line) for line in each.splitlines()]
        behalf = {row["id"]: row["onBehalf"] for row in rows if row["row"] == "event"}
        assert {number: of for number, of in behalf.items() if of} == {moved.event: asked}
    edge.service.close()
    there.service.close()


def test_whose_session_it_is_moves_with_it() -> None:
    """An export from before that was noted leaves it to the machine that took the lease."""
    leased = in_memory()
    cast = Cast(leased)
    ref = cast.ticket()
    text = lease_texts.started(SESSION, "here", AT + 60_000)
    cast.colony.move(ref, "progress", key="m", text=text)
    for data in (exported(filled()), exported(leased), older(filled()), older(leased)):
        there = Cast(imported(data))
        record = SessionRecord(SESSION, ref, "here", "ended")
        evil = there.edge.tracker(Me("evilbot", "", machine=True, owner=False))
        if data == older(filled()):
            evil.put_session(record)
            continue
        with pytest.raises(Forbidden):
            evil.put_session(record)
        there.colony.put_session(record)


def older(edge: EmbeddedEdge) -> bytes:
    rows = [json.loads(line) for line in exported(edge).splitlines()]
    return written([
        {key: value for key, value in row.items() if row["row"] != "session" or key != "userId"}
        for row in rows
    ])  # fmt: skip


def test_two_stores_with_the_same_history_are_two_stores() -> None:
    edge = in_memory()
    Cast(edge).ticket()
    there = imported(exported(edge))
    assert there.service.version() != edge.service.version()


def filled() -> EmbeddedEdge:
    edge = in_memory()
    cast = Cast(edge)
    first, second = cast.ticket(), cast.ticket("second", summary="words")
    cast.member("bob", "edit")
    cast.comment(cast.colony, first, "noted")
    cast.alice.block(first, second, key="b")
    cast.alice.set_parent(second, cast.ticket("third"), key="p")
    cast.alice.move(first, "review", key="m", text="tried")
    cast.colony.put_session(SessionRecord(SESSION, first, "here", "working", report={"a": 1}))
    cast.colony.put_host(HostRecord("here", 2, 1))
    return edge


ROWS = [json.loads(line) for line in exported(filled()).splitlines()]
"""One export as objects, with a row of each kind."""


def written(rows: list[dict[str, Any]]) -> bytes:
    """The rows as a whole export: the last line is made to fit."""
    body = b"".join(json.dumps(row).encode() + b"\n" for row in rows if row["row"] != "end")
    end = {"row": "end", "lines": body.count(b"\n"), "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


def changed(name: str, /, **fields: Any) -> bytes:
    """With one row of this name changed."""
    rows = [dict(row) for row in ROWS]
    next(row for row in rows if row["row"] == name).update(fields)
    return written(rows)


def refused(data: bytes) -> str:
    engine = engine_at("sqlite:///:memory:", create=True, timeout_s=1)
    try:
        with pytest.raises(Refused) as told:
            take(engine, io.BytesIO(data), DERIVE)
        with engine.reading() as db:
            assert db.rows("held") == [(0, 0, 0)]
    finally:
        engine.close()
    assert "nothing was read" in told.value.line
    assert len(told.value.line) < 500
    return told.value.line


def test_the_made_up_export_is_a_good_one() -> None:
    there = imported(written(ROWS))
    assert len(there.service.tickets()) == 3
    names = [row["row"] for row in ROWS]
    assert set(names) == {
        "export", "user", "project", "member", "ticket", "parent", "block", "event", "session",
        "host", "end",
    }  # fmt: skip


BIG = 10**18
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("export", {"version": 2}, "line 1: export.version"),
    ("export", {"lastEvent": 3}, "event.id"),
    ("export", {"lastEvent": -1}, "line 1: export.lastEvent"),
    ("export", {"more": 1}, "line 1: export: unknown key"),
    ("user", {"id": "u7"}, "line 2: user.id"),
    ("user", {"name": ""}, "line 2: user"),
    ("user", {"name": "a\nb"}, "line 2: user"),
    ("user", {"machine": 1}, "line 2: user.machine: not bool"),
    ("user", {"name": "colony"}, "is there already"),
    ("project", {"name": "../x"}, "project"),
    ("project", {"lastNumber": 1}, "has not given it out"),
    ("project", {"lastNumber": BIG}, "too many digits"),
    ("project", {"lastNumber": BIG - 1}, "project.lastNumber"),
    ("project", {"createdMs": 1.5}, "not int"),
    ("member", {"role": "king"}, "member.role: not one of"),
    ("member", {"userId": "u9"}, "names something that is not there"),
    ("member", {"project": "nowhere"}, "names something that is not there"),
    ("ticket", {"number": 0}, "no ticket is named so"),
    ("ticket", {"number": True}, "not int"),
    ("ticket", {"subject": "two\nlines"}, "ticket.subject"),
    ("ticket", {"subject": "x" * 301}, "at most 300"),
    ("ticket", {"summary": "x" * (TEXT_MAX + 1)}, "at most"),
    ("ticket", {"summary": "a\0b"}, "holds NUL"),
    ("ticket", {"state": "answered"}, "ticket.state"),
    ("ticket", {"state": "done"}, "its history says"),
    ("ticket", {"userId": "u9"}, "no such user"),
    ("ticket", {"machine": True}, "is not what the user is"),
    ("ticket", {"lastEvent": 1}, "its history ends with"),
    ("ticket", {"version": 0}, "version is 0"),
    ("ticket", {"project": "lib"}, "has not given it out"),
    ("ticket", {"priority": 9}, "unknown key"),
    ("parent", {"parentNumber": 2}, "circle"),
    ("parent", {"parentNumber": 9}, "names something that is not there"),
    ("parent", {"number": 9}, "names a ticket that is not there"),
    ("block", {"byNumber": 1}, "circle"),
    ("block", {"byNumber": 9}, "names something that is not there"),
    ("event", {"id": 0}, "event.id: must rise"),
    ("event", {"id": 2**53 - 1}, "event.id: must rise"),
    ("event", {"kind": "magic"}, "event.kind"),
    ("event", {"kind": "comment"}, "event.number"),
    ("event", {"machine": True}, "is not what the user is"),
    ("event", {"text": "\ud800"}, "lone surrogate"),
    ("event", {"onBehalf": 1}, "is no earlier event"),
    ("session", {"report": "{"}, "session.report"),
    ("session", {"report": "[" * 100_000}, "session.report"),
    ("session", {"costUsd": -1.0}, "costUsd"),
    ("session", {"costUsd": float("nan")}, "NaN"),
    ("session", {"number": 77}, "names something that is not there"),
    ("session", {"phase": "x" * 301}, "too long"),
    ("session", {"tail": "x" * 70_000}, "session.tail"),
    ("ticket", {"source": "colony:question:1"}, "ticket.source: what begins with colony"),
    ("user", {"createdMs": 2**53}, "user.createdMs: a number too large"),
    ("event", {"id": 2**53}, "event.id: a number too large"),
    ("event", {"atMs": -(2**53)}, "event.atMs: a number too large"),
    ("session", {"endedMs": 2**53}, "session.endedMs: a number too large"),
    ("host", {"seenMs": 2**53}, "host.seenMs: a number too large"),
    ("session", {"userId": "u1"}, "session.userId: is no machine"),
    ("session", {"userId": "u99"}, "session.userId: is no machine"),
    ("host", {"slots": -1}, "slots"),
    ("host", {"disk": ""}, "host.disk"),
]


@pytest.mark.parametrize(("name", "fields", "told"), CASES)
def test_each_field_is_checked(name: str, fields: dict[str, Any], told: str) -> None:
    assert told in refused(changed(name, **fields))


def test_a_machine_is_no_admin_and_a_project_has_one() -> None:
    machine = next(row["id"] for row in ROWS if row["row"] == "user" and row["machine"])
    assert "never an admin" in refused(changed("member", userId=machine, role="admin"))
    rows = [row for row in ROWS if row["row"] != "member"]
    alice = next(row for row in rows if row["row"] == "user")
    rows[rows.index(alice)] = {**alice, "owner": False}
    assert "has no admin" in refused(written(rows))


def test_a_history_begins_with_what_made_the_ticket() -> None:
    created = [row for row in ROWS if row["row"] == "event" and row["kind"] == "created"]
    rows = [row for row in ROWS if row != created[0]]
    assert "does not begin" in refused(written(rows))
    twice = [row | {"kind": "created", "to": "review"} if row.get("kind") == "state" else row
             for row in ROWS]  # fmt: skip
    assert "does not begin" in refused(written(twice))


def test_rows_come_in_their_order_and_once() -> None:
    assert "stands too late" in refused(written([ROWS[0], *reversed(ROWS[1:])]))
    member = next(row for row in ROWS if row["row"] == "member")
    at = ROWS.index(member)
    assert "is there already" in refused(written([*ROWS[: at + 1], *ROWS[at:]]))
    assert "line 1" in refused(written(ROWS[1:]))
    assert "stands too late" in refused(written([ROWS[0], ROWS[0], *ROWS[1:]]))


def test_a_file_that_was_cut_anywhere_is_known() -> None:
    whole = exported(filled())
    for end in range(0, len(whole), 7):
        assert "line" in refused(whole[:end])
    assert "cut short" in refused(whole[:-1])
    assert "follows the last line" in refused(whole + b"\n")
    gone = whole.splitlines(keepends=True)
    host = next(at for at, line in enumerate(gone) if line.startswith(b'{"row":"host"'))
    assert "end.lines" in refused(b"".join(gone[:host] + gone[host + 1 :]))
    assert "end.sha256" in refused(whole.replace(b"Mend the gate", b"Mend the gata"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"\n", "is not JSON"),
        (b"[1]\n", "no JSON object"),
        (b"<html>\n", "is not JSON"),
        (b"\xff\xfe\n", "not UTF-8"),
        (b'{"row":"user","row":"user"}\n', "stands twice"),
        (b'{"row":"ghost"}\n', "ghost"),
        (b'{"row":["user"]}\n', "none that this Colony knows"),
        (b"[" * 100_000 + b"\n", "inside each other"),
        (b'"' + b"x" * (9 * 1024 * 1024) + b'"\n', "longer than"),
        (b'{"row":"user","id":"u1"}\n', "is missing"),
    ],
)
def test_hostile_lines(line: bytes, told: str) -> None:
    head = exported(filled()).splitlines(keepends=True)[0]
    assert told in refused(head + line)
    assert "line 1" in refused(line)


@settings(max_examples=150)
@given(st.integers(0, len(ROWS) - 2), st.data())
def test_whatever_a_field_becomes_it_is_taken_or_refused(at: int, data: st.DataObject) -> None:
    rows = [dict(row) for row in ROWS]
    field = data.draw(st.sampled_from(sorted(rows[at])))
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    rows[at][field] = data.draw(scalars | st.lists(scalars) | st.dictionaries(st.text(), scalars))
    rows = [row for row in rows if row["row"] != "end"] if field == "row" else rows
    engine = engine_at("sqlite:///:memory:", create=True, timeout_s=1)
    try:
        take(engine, io.BytesIO(written(rows)), DERIVE)
        edge = EmbeddedEdge(Service(engine, Clock(), DERIVE), Clock())
        everything(Cast(edge).alice)
        take_again = exported(edge, rows[0]["atMs"])
        imported(take_again).service.close()
    except Refused:
        pass
    finally:
        engine.close()


def test_only_an_empty_tracker_takes_an_export() -> None:
    data = exported(filled())
    engine = engine_at("sqlite:///:memory:", create=True, timeout_s=1)
    Cast(EmbeddedEdge(Service(engine, Clock(), DERIVE), Clock())).alice.me()
    with pytest.raises(Refused, match="not empty"):
        take(engine, io.BytesIO(data), DERIVE)
    engine.close()
