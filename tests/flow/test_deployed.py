"""`deployed` while others write: what a person did holds, and nothing is written twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from shop import SHOP, TTL_MS, Shop, schema_of

from colony.core.lines import Line
from colony.core.texts import lease as lease_texts
from colony.core.ticket import Me
from colony.errors import NoAnswer, Refused
from colony.flow.deploy import Gate, tell_deployed
from colony.tracker.protocol import Tracker
from tests.fakes.meddled import Call, Meddle, Meddled, Moment, at, lost, tracker_of

URL = "https://shop.example"
OTHER = "s-20260131T1819-bbbbbb"


@pytest.fixture
def built(shop: Shop) -> Shop:
    """`shop#1` is built and waits for a deploy."""
    shop.register(live={"url": URL})
    shop.work(live=URL)
    assert shop.state == "progress"
    return shop


def gate(shop: Shop, tracker: Tracker, site: str = URL) -> Gate:
    return Gate(tracker, shop.runs, schema_of("report"), schema_of("verdict"), site)


def deploy(shop: Shop, meddle: Meddle | None = None, site: str = URL) -> list[Line]:
    tracker = shop.colony if meddle is None else tracker_of(Meddled(shop.colony, meddle))
    return list(tell_deployed(gate(shop, tracker, site), SHOP))


def lives(shop: Shop) -> list[str]:
    return [each for each in shop.told() if "colony-deployed:" in each]


@pytest.mark.parametrize("number", [1, 2])
def test_a_comment_in_between_is_no_reason_to_stop(built: Shop, number: int) -> None:
    lines = deploy(built, at("before", number, lambda: built.says("And paint it.")))
    assert [each.kind for each in lines] == ["posted", "posted", "deployed"]
    assert (built.state, len(lives(built))) == ("review", 1)


@pytest.mark.parametrize("state", ["pending", "open", "done", "canceled"])
def test_a_move_before_the_comment_leaves_nothing_to_say(built: Shop, state: Any) -> None:
    with pytest.raises(Refused) as refused:
        deploy(built, at("before", 1, lambda: built.moves(state)))
    assert refused.value.line == f"shop#1 waits for no deploy: it is {state}"
    assert (built.state, lives(built)) == (state, [])


@pytest.mark.parametrize("state", ["pending", "done", "reopened"])
def test_a_move_after_the_comment_stays(built: Shop, state: Any) -> None:
    lines = deploy(built, at("before", 2, lambda: built.moves(state)))
    assert [each.kind for each in lines] == ["posted", "post.refused", "deployed"]
    assert lines[1].text == f"shop#1 not moved to review — the ticket is {state} now"
    assert (built.state, len(lives(built))) == (state, 1)
    assert [each.kind for each in deploy(built)] == ["have", "deployed"]
    assert built.state == state


def test_another_session_that_took_it_keeps_it(built: Shop) -> None:
    def taken() -> None:
        built.moves("open")
        text = lease_texts.started(OTHER, "box2", built.time.wall_ms() + TTL_MS)
        built.colony.move(SHOP, "progress", text=text, key="other")

    with pytest.raises(Refused) as refused:
        deploy(built, at("before", 1, taken))
    assert refused.value.line == f"shop#1 waits for no deploy: session {OTHER} holds it"
    assert (built.state, lives(built)) == ("progress", [])


def test_two_at_once_say_it_once(built: Shop) -> None:
    """The other one knows more of the site, so its text is another one."""
    others: list[Line] = []
    lines = deploy(built, at("before", 1, lambda: others.extend(deploy(built))), site="")
    assert [each.kind for each in others] == ["posted", "posted", "deployed"]
    assert [each.kind for each in lines] == ["have", "deployed"]
    assert (built.state, len(lives(built))) == ("review", 1)


@pytest.mark.parametrize("meanwhile", ["", "done"])
def test_who_is_second_to_move_it_has_it(built: Shop, meanwhile: Any) -> None:
    """Another host, with a token of its own, finds the comment there and is quicker to move."""
    elm = built.tracker(Me("elm", "", machine=True, owner=False))

    def other() -> None:
        lines = tell_deployed(gate(built, elm), SHOP)
        assert [each.kind for each in lines] == ["have", "posted", "deployed"]
        if meanwhile:
            built.moves(meanwhile)

    lines = deploy(built, at("before", 2, other))
    assert [each.kind for each in lines] == ["posted", "have", "deployed"]
    assert lines[1].text == "shop#1 moved to review"
    assert (built.state, len(lives(built))) == (meanwhile or "review", 1)


@pytest.mark.parametrize("state", ["review", "open"])
def test_a_person_who_moves_it_meanwhile_is_no_deploy(built: Shop, state: Any) -> None:
    lines = deploy(built, at("before", 2, lambda: built.moves(state)))
    assert [each.kind for each in lines] == ["posted", "post.refused", "deployed"]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_script_that_dies_anywhere_is_run_again(built: Shop, moment: Moment, number: int) -> None:
    def dies(when: Moment, call: Call) -> None:
        if call.writes and (when, call.number) == (moment, number):
            raise NoAnswer("no answer")

    with pytest.raises(NoAnswer):
        deploy(built, dies)
    lines = deploy(built)
    assert lines[-1].kind == "deployed"
    assert (built.state, len(lives(built))) == ("review", 1)
    assert [each.kind for each in deploy(built)] == ["have", "deployed"]


def test_an_answer_that_was_lost_is_asked_for_with_the_same_key(built: Shop) -> None:
    with pytest.raises(NoAnswer):
        deploy(built, lost())
    assert deploy(built)[0].kind == "have"
    assert len(lives(built)) == 1


def test_a_run_folder_that_holds_another_report_is_not_believed(built: Shop) -> None:
    """The ticket names the hash of the report that was posted."""
    [session] = built.sessions
    facts = built.facts(session)
    assert facts.report is not None
    folder = built.folder_of(session)
    raw = (folder.path / "report.json").read_text().replace("The gate opens", "The gate shuts")
    sha256 = folder.write("report.json", raw.encode())
    built.put(replace(facts, report=replace(facts.report, sha256=sha256)))
    deploy(built)
    assert "The gate opens again." in lives(built)[0]


def test_a_row_that_holds_another_report_is_not_told(built: Shop) -> None:
    """Another host has the row alone; the ticket names the hash of the report that was posted."""
    [session] = built.sessions
    facts = built.facts(session)
    assert facts.report is not None
    row = built.colony.session(session)
    assert isinstance(row.report, dict)
    built.colony.put_session(replace(row, report=row.report | {"result": "The gate shuts."}))
    elsewhere = replace(gate(built, built.colony), runs=built.folder / "elsewhere")
    with pytest.raises(Refused) as refused:
        list(tell_deployed(elsewhere, SHOP))
    posted = facts.report.sha256[:12]
    assert refused.value.line.startswith(f"shop#1: the report of session {session} cannot be had: ")
    assert refused.value.line.endswith(f", posted {posted})")
    assert (built.state, lives(built)) == ("progress", [])
    built.colony.put_session(row)
    assert [each.kind for each in tell_deployed(elsewhere, SHOP)][-1] == "deployed"
    assert "The gate opens again." in lives(built)[0]
