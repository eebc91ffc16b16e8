"""A report from a file: read and told, posted as unchecked, once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shop import ASKS, ISSUE, SHOP, TTL_MS, Shop, schema_of

from colony.core.lease import Ended, lease_of
from colony.core.markers import Report, marker_of
from colony.core.records import SessionRecord
from colony.core.texts import lease as lease_texts
from colony.core.ticket import State
from colony.errors import Busy, Refused
from colony.flow.reporting import PostRefused, ReportFile, ReportRefused, post_file, read_file
from colony.tracker.protocol import Tracker
from tests.fakes.meddled import Call, Crash, Meddled, Moment, lost, tracker_of

SESSION = "s-20260131T1819-cccccc"
OTHER = "s-20260131T1819-dddddd"
GOOD: dict[str, Any] = {
    "ticket": str(SHOP),
    "session": SESSION,
    "result": "The gate opens again.",
    "complete": True,
    "test": ["Open the gate.", "It opens."],
    "done": ["mended the gate"],
    "verified": [{"claim": "a note", "command": "echo a note", "output": "a note"}],
    "open": [],
    "issues": [ISSUE],
    "questions": [ASKS],
    "running": [],
    "refused": [],
}
KNOWN = frozenset({"shop"})


def written(shop: Shop, **changes: Any) -> Path:
    path = shop.folder / "report.json"
    path.write_text(json.dumps(GOOD | changes))
    return path


def read(shop: Shop, **changes: Any) -> ReportFile:
    path = written(shop, **changes)
    return read_file(path, schema_of("report"), shop.registry, shop.lines.append)


def post(shop: Shop, report: ReportFile, tracker: Tracker | None = None) -> list[str]:
    """The kinds of the lines."""
    holder = shop.holder(report.report.session, tracker)
    return [each.kind for each in post_file(holder, report, KNOWN)]


def reports(shop: Shop) -> list[Report]:
    found = [marker_of(each) for each in shop.history().events]
    return [each for each in found if isinstance(each, Report)]


def everything(shop: Shop) -> list[tuple[str, str, str]]:
    events = [each.event for each in shop.colony.changes(0, 10_000).events]
    return [(each.kind, each.after, each.text.split("colony-lease")[0]) for each in events]


# --- reading -----------------------------------------------------------------------------------


def test_a_good_report_is_told_and_nothing_is_written(shop: Shop) -> None:
    before = shop.history()
    found = read(shop)
    assert (found.ref, found.live, found.report.session) == (SHOP, False, SESSION)
    assert [(each.kind, each.text) for each in shop.lines] == [("report.ok", f"shop#1 {SESSION}")]
    assert shop.history() == before


def test_an_unknown_project_is_noted(shop: Shop) -> None:
    read(shop, issues=[ISSUE | {"project": "till"}])
    assert shop.kinds() == ["report.ok", "report.problem"]
    assert "till" in shop.lines[1].text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"result": ""}, "result"),
        ({"test": ["one"]}, "test"),
        ({"verified": [{"claim": "x", "command": "y"}]}, "verified[0]: 'output' is missing"),
        ({"ticket": "shop"}, "ticket"),
        ({"ticket": 7}, "ticket"),
        ({"session": "somebody"}, "session"),
        ({"session": None}, "session"),
        ({"more": 1}, "more"),
    ],
)
def test_every_problem_is_told_with_its_place(
    shop: Shop, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(ReportRefused):
        read(shop, **changes)
    assert shop.lines[0].kind == "report.refused"
    assert any(told in each.text for each in shop.lines[1:])


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b'{"a": NaN}', b"[" * 5000, b"\xff\x00", b'"\\ud800"']
)
def test_what_is_no_report_is_refused_in_one_line(shop: Shop, raw: bytes) -> None:
    path = shop.folder / "report.json"
    path.write_bytes(raw)
    with pytest.raises(ReportRefused):
        read_file(path, schema_of("report"), shop.registry, shop.lines.append)


def test_a_file_that_is_not_there_is_refused(shop: Shop) -> None:
    with pytest.raises(Refused, match="does not exist"):
        read_file(shop.folder / "none.json", schema_of("report"), shop.registry, print)


# --- posting -----------------------------------------------------------------------------------


def test_it_is_posted_as_unchecked(shop: Shop) -> None:
    report = read(shop)
    assert post(shop, report) == ["posted"] * 5
    assert shop.state == "review"
    [line] = reports(shop)
    assert (line.unchecked, line.passed, line.session) == (True, False, SESSION)
    assert report.sha256.startswith(line.sha256)
    assert "not checked" in shop.told()[-2]
    assert len(shop.others) == 2
    assert isinstance(lease_of(shop.history().events), Ended)


def test_the_same_again_is_had_already(shop: Shop) -> None:
    report = read(shop)
    post(shop, report)
    before = everything(shop)
    kinds = post(shop, report)
    assert kinds[0] == "have"
    assert everything(shop) == before


def test_the_same_report_with_other_spaces_is_had_too(shop: Shop) -> None:
    """Its hash is of what it says; a ticket may name the hash of the file's bytes as well."""
    report = read(shop)
    spaced = shop.folder / "spaced.json"
    spaced.write_text(json.dumps(GOOD, indent=4))
    other = read_file(spaced, schema_of("report"), shop.registry, shop.lines.append)
    assert (other.sha256, other.file_sha256 != report.file_sha256) == (report.sha256, True)
    post(shop, replace(report, sha256=report.file_sha256))
    assert reports(shop)[0].sha256 == report.file_sha256[:12]
    assert post(shop, report)[0] == "have"
    with pytest.raises(PostRefused):
        post(shop, other)


def test_its_row_holds_what_was_posted(shop: Shop) -> None:
    """A report that was given before and not posted gives way, and so does its verdict."""
    report, verdict = read(shop), {"verdict": "fail"}
    given = SessionRecord(SESSION, SHOP, "box1", "ended", report=GOOD | {"complete": False})
    shop.colony.put_session(replace(given, verdict=verdict))
    post(shop, report)
    row = shop.colony.session(SESSION)
    assert (row.report, row.verdict) == (report.data, None)
    shop.colony.put_session(replace(row, verdict=verdict))
    post(shop, report)
    assert shop.colony.session(SESSION).verdict == verdict, "it is on this very report"


def test_another_report_of_the_same_session_is_refused(shop: Shop) -> None:
    first = read(shop)
    post(shop, first)
    before = everything(shop)
    with pytest.raises(PostRefused, match=first.sha256[:12]):
        post(shop, read(shop, result="Something else."))
    assert everything(shop) == before


def test_while_another_session_holds_the_ticket_it_is_busy(shop: Shop) -> None:
    text = lease_texts.started(OTHER, "box2", shop.time.wall_ms() + TTL_MS)
    shop.colony.move(SHOP, "progress", text=text, key="other")
    before = everything(shop)
    with pytest.raises(Busy, match=OTHER):
        post(shop, read(shop))
    assert everything(shop) == before


@pytest.mark.parametrize("state", ["review", "pending", "done", "canceled"])
def test_in_a_state_that_a_person_chose_only_the_comment_is_written(
    shop: Shop, state: State
) -> None:
    shop.moves(state)
    post(shop, read(shop))
    assert shop.state == state
    assert len(reports(shop)) == 1


def test_interrupted_anywhere_and_repeated_it_is_posted_once(tmp_path: Path) -> None:
    """Before and after each write, until one run passes."""
    whole = Shop(tmp_path / "whole")
    post(whole, read(whole))
    told = everything(whole)
    whole.close()
    number, died = 0, True
    while died:
        number += 1
        shop, died, passed = Shop(tmp_path / f"{number}"), False, 0

        def meddle(moment: Moment, call: Call) -> None:
            nonlocal died, passed
            passed += call.writes
            if call.writes and passed == number:  # noqa: B023 - called within this very round
                died = True
                raise Crash

        report = read(shop)
        try:
            post(shop, report, tracker_of(Meddled(shop.colony, meddle)))
        except Crash:
            post(shop, report)
        assert everything(shop) == told, f"instant {number}"
        shop.close()
    assert number == 2 * 6 + 1


def test_posted_with_every_answer_lost_once(shop: Shop) -> None:
    post(shop, read(shop), tracker_of(Meddled(shop.colony, lost())))
    assert len(reports(shop)) == 1
    assert len(shop.others) == 2
    assert shop.state == "review"


def test_interrupted_and_long_after_it_goes_on(shop: Shop) -> None:
    """Its lease was given back meanwhile: the ticket is taken once more."""
    report = read(shop)

    def dies(moment: Moment, call: Call) -> None:
        if call.name == "create":
            raise Crash

    with pytest.raises(Crash):
        post(shop, report, tracker_of(Meddled(shop.colony, dies)))
    shop.time.pass_by(2 * TTL_MS / 1000)
    shop.colony.move(SHOP, "open", text=lease_texts.expired(SESSION, "box1"), key="expire")
    post(shop, report)
    assert (shop.state, len(reports(shop))) == ("review", 1)


def test_a_persons_move_while_it_is_posted_stays(shop: Shop) -> None:
    def moves(moment: Moment, call: Call) -> None:
        if moment == "before" and call.name == "comment" and shop.state == "progress":
            shop.moves("pending", "Wait.")

    post(shop, read(shop), tracker_of(Meddled(shop.colony, moves)))
    assert (shop.state, len(reports(shop))) == ("pending", 1)
    before = everything(shop)
    assert post(shop, read(shop))[0] == "have"
    assert everything(shop) == before
