"""Why a ticket would be started now, or not: which rule decides, and what to do about each."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from histories import S1, make_survey, make_ticket, question, related
from test_eligible import leased

from colony.core.eligible import Code, For, Waits, reasons
from colony.core.explain import Delay, Reason, behind, explain, lines, remedy_of
from colony.core.lines import Line
from colony.core.ticket import Ref, Ticket

BOX = Reason("box", "no sandbox: bwrap is not installed", True)
CAN = Reason("agent", "claude can run", against=False)
LEFT = Reason("left", "session s has it", True, "go on")


def told(ticket: Ticket, own: list[Reason], delays: list[Delay], **facts: Any) -> list[Line]:
    rules = reasons(ticket, make_survey(ticket, **facts))
    return list(lines(explain(ticket, rules, own, delays)))


def test_a_ticket_that_is_next() -> None:
    head, *details, hint = told(make_ticket(), [CAN], [])
    assert head.text == "shop#1 would be started next"
    assert head.facts == {"answer": "next", "code": "next", "after": []}
    assert {each.kind for each in details} == {"explain.for"}
    assert details[-1].text == "for: claude can run"
    assert hint.text.startswith("colony run starts it; by hand: colony work shop 1 --post")


def test_the_tickets_own_rule_decides_before_the_hosts() -> None:
    head, first, second, *rest = told(make_ticket(state="review"), [CAN, BOX], [])
    assert head.text == "shop#1 is not started: its result waits for the creator"
    assert head.facts["answer"] == "not started"
    assert head.facts["code"] == "review"
    assert first.kind == second.kind == "explain.against"
    assert first.text.startswith("against: its result waits for the creator — try it, then: ")
    assert second.text == "against: no sandbox: bwrap is not installed"
    assert {each.kind for each in rest} == {"explain.for"}


def test_the_host_decides_where_the_ticket_is_ready() -> None:
    assert told(make_ticket(), [CAN, BOX], [])[0].text == f"shop#1 is not started: {BOX.text}"


def test_a_session_that_was_left_decides_before_its_own_lease() -> None:
    head, first, second, *_ = told(leased("started"), [CAN, LEFT], [])
    assert head.text == "shop#1 is not started: session s has it"
    assert first.text == "against: session s has it — go on"
    assert second.facts["code"] == "leased"


def test_what_comes_first_only_delays() -> None:
    ticket = make_ticket(9)
    queue = [make_ticket(number) for number in (1, 2, 3, 4)]
    delays = [Delay((Ref("shop", 1),), Reason("interrupted", "x", True)), behind(ticket, queue)]
    head, first, second, *_, hint = told(ticket, [CAN], delays)
    assert head.text == "shop#9 comes after shop#1, shop#2, shop#3 and 1 more"
    assert head.facts["answer"] == head.facts["code"] == "later"
    assert head.facts["after"] == ["shop#1", "shop#2", "shop#3", "shop#4"]
    assert first.facts["code"] == "interrupted"
    assert second.text.startswith("against: 4 tickets come first (older): shop#1, shop#2, shop#3")
    assert hint.text == "start it before them: colony work shop 9 --post"
    assert told(ticket, [BOX], delays)[0].text == f"shop#9 is not started: {BOX.text}"


def test_why_others_come_first() -> None:
    higher = behind(make_ticket(9), [make_ticket(1, priority=5)])
    assert higher.reason.text == "1 ticket comes first (of higher priority, or older): shop#1"


def test_every_code_has_its_remedy_or_needs_none() -> None:
    ticket = make_ticket(state="pending")
    without = {code for code in get_args(Code) if not remedy_of(ticket, code)}
    # blocked by nothing that is canceled: it comes when the others are done
    assert without == {"ordered", "parent", "unread", "blocked"}


@pytest.mark.parametrize(
    ("ticket", "code", "remedy"),
    [
        (make_ticket(children=(question(6),)), "asked", 'answer: colony ticket answer shop 6 "…"'),
        (make_ticket(), "pending", "let it go on: colony ticket state shop 1 open"),
        (leased("started"), "leased", "watch it: colony tail shop 1"),
        (leased("parked"), "parked", f"look at it: colony sessions {S1}"),
        (leased("ready"), "built", "after the deploy: colony deployed shop 1"),
        (
            make_ticket(blocked_by=(related(2, "canceled"),)),
            "blocked",
            "remove the link: colony ticket block shop 1 shop 2 --remove",
        ),
        (make_ticket(), "stranger", 'accept it: colony ticket comment shop 1 "/accept"'),
        (
            make_ticket(),
            "budget",
            "let it cost more: colony ticket comment shop 1 '/budget $N'",
        ),
        (
            make_ticket(),
            "reviews",
            "try what waits: colony ticket list --project shop --state review",
        ),
        (make_ticket(), "no file", "register its folder: colony init FOLDER"),
        (
            make_ticket(),
            "needs",
            "start it on a host that offers it,"
            " or, if this one does, say so in COLONY_CAPABILITIES",
        ),
        (make_ticket(), "broken", "mend projects/shop.json (docs/registry.md)"),
    ],
)
def test_what_to_do(ticket: Ticket, code: Any, remedy: str) -> None:
    assert remedy_of(ticket, code) == remedy


def test_no_rule_is_lost() -> None:
    rules = (Waits("blocked", "a"), Waits("host", "b"), For("c"))
    found = explain(make_ticket(), rules, [BOX, CAN], [])
    assert [each.text for each in found.reasons] == ["a", "b", BOX.text, "c", CAN.text]
