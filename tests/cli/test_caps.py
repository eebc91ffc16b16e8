"""What a ticket may cost, how many results may wait for their creator, and how often is too often.

| rule | test |
|---|---|
| an ending at the cap is a question, whatever the ending | test_at_its_cap_a_ticket_asks |
| `/budget $N` and an answer let it go on | test_more_money_lets_it_go_on |
| an answer alone does not; all commands say so alike | test_an_answer_alone |
| whose word counts | test_whose_budget_counts |
| a run gets what is left, and its brief says so | test_a_worker_gets_what_is_left |
| a run that is stopped by it asks | test_a_worker_that_is_stopped_by_the_cap_asks |
| a cap set below what it cost asks without a run | test_a_budget_below_the_cost_asks_at_once |
| a stop at the cap asks too | test_a_stop_at_the_cap |
| the loop | test_the_loop_asks_and_goes_on |
| results that wait hold what is new | test_results_that_wait_hold_what_is_new |
| and nothing else | test_what_was_sent_back_goes_on_whatever_waits |
| a result that was tried makes room, in the loop | test_a_result_that_was_tried_makes_room |
| outside of the hours nothing is started, by hand it is | test_outside_of_the_hours |
| within them it is | test_within_the_hours |
| what was begun goes on | test_what_was_begun_goes_on_at_any_hour |
| the loop says so, and reads them again | test_the_hours_of_the_loop |
| half done too often | test_half_done_too_often |
| starts in an hour, in the loop | test_too_many_starts_in_the_loop |
| an open question holds its ticket until a newer rejection | test_a_question_holds_its_ticket |
"""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from colony.core.hours import DAYS
from colony.core.relations import is_question
from colony.core.ticket import Ref, Ticket
from tests.cli.looping import Loop, loop, session_processes, until
from tests.cli.stage import CART, LIE, Stage, a_cart, answer, moves, verdict

SILENT: list[dict[str, Any]] = [{"say": "hm"}]
CAP = {"COLONY_MAX_COST_PER_TICKET": "0.05"}
ASK = {"index": 0, "ruling": "ask", "reason": "open", "answer": ""}
SEES = {"run": "tr '\\0' '\\n' < /proc/$PPID/cmdline | grep -A1 max-budget >> limits.txt"}
"""The worker writes down what it may cost."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = a_cart(tmp_path)
    # A worker costs what its own steps cost: nobody asks it for a report once more.
    stage.environ["COLONY_FINALIZE_MAX_TURNS"] = "0"
    return stage


def work(stage: Stage, **environ: str) -> int:
    return stage("work", "shop", "1", "--post", **CAP | environ).code


def questions(stage: Stage) -> list[Ticket]:
    return [row for row in stage.rows() if is_question(row)]


HALF = answer(complete=False, open=["wheels"])
ENDINGS: dict[str, Any] = {
    "no report": ({"work": [{"say": "hm"}]}, "the worker stopped without saying what it did"),
    "half done": ({"work": [HALF]}, "Still open: wheels"),
    "sent back": ({"work": [LIE]}, "Not true: there"),
    "given back": (
        {"work": [{"error": "no", "status": 404, "word": "model_not_found"}]},
        "the chosen model is not available",
    ),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_at_its_cap_a_ticket_asks(stage: Stage, how: str) -> None:
    script, why = ENDINGS[how]
    stage.script(**script, cost=0)
    assert work(stage) in (0, 1, 4)
    assert (stage.row(CART).state, questions(stage)) == ("open", [])
    stage.script(work=[{"say": "that was dear"}, *script["work"]], cost=0.06)
    assert work(stage) in (0, 1, 4)
    assert stage.row(CART).state == "pending"
    [asked] = questions(stage)
    assert asked.state == "pending"
    assert asked.subject.startswith("Question (shop#1): it has cost $0.")
    assert asked.subject.endswith(" and may cost $0.05. How shall it go on?")
    assert why in asked.summary
    assert '"/budget $1"' in asked.summary
    assert "it has cost all that it may" in stage.events(CART)[-1].text


def broke(stage: Stage) -> None:
    """Two attempts of three cents each, of which it may cost five."""
    stage.script(work=SILENT, cost=0.03)
    assert work(stage) == 1
    assert stage.row(CART).state == "open"
    assert work(stage) == 1
    assert stage.row(CART).state == "pending"


def test_more_money_lets_it_go_on(stage: Stage) -> None:
    broke(stage)
    assert "cost $0.06 and may cost $0.05" in questions(stage)[0].subject
    stage.script(work=[answer()])
    stage.comment(CART, "/budget $1")
    assert stage("ticket", "answer", "shop", "2", "Go on.").code == 0
    assert stage("next", **CAP).lines[0].startswith("NEXT: shop#1 ")
    assert "  for: it has cost $0.06 of $1.00" in stage("explain", "shop", "1", **CAP).lines
    assert work(stage) == 0
    assert stage.row(CART).state == "review"
    assert len(questions(stage)) == 1


@pytest.mark.parametrize("environ", [CAP, {}])
def test_an_answer_alone(stage: Stage, environ: dict[str, str]) -> None:
    """Without a setting the word on the ticket is its cap: all commands know it by its question."""
    if not environ:
        stage.comment(CART, "/budget $0.05")
    broke(stage)
    assert stage("ticket", "answer", "shop", "2", "Go on.").code == 0
    assert stage.row(CART).state == "open"
    why = "it has cost $0.06, and may cost $0.05"
    before = stage.store()
    assert f'  shop#1 "A cart" — {why}' in stage("next", **environ).lines
    told = stage("explain", "shop", "1", **environ).lines
    assert told[:2] == [
        f"EXPLAIN shop#1 is not started: {why}",
        f"  against: {why} — let it cost more: colony ticket comment shop 1 '/budget $N'",
    ]
    for words in (("--post",), ("--dry-run",)):
        refused = stage("work", "shop", "1", *words, **environ)
        assert (refused.code, refused.lines[-1]) == (
            3, f"work: REFUSED — shop#1 is not eligible: {why}",
        )  # fmt: skip
    assert stage("cycle", "--post", **environ).lines[-1] == "CYCLE — nothing to do"
    assert stage.store() == before
    stage.comment(CART, "/budget $1")
    assert stage("next", **environ).lines[0].startswith("NEXT: shop#1 ")


def test_whose_budget_counts(stage: Stage) -> None:
    broke(stage)
    stage.comment(CART, "/budget $9", user="eve")
    stage.comment(CART, "/budget $9", machine=True, user="colony")
    assert stage("ticket", "answer", "shop", "2", "Go on.").code == 0
    assert "and may cost $0.05" in stage("next", **CAP).out
    stage.comment(CART, "/budget $9")
    assert stage("next", **CAP).lines[0].startswith("NEXT: shop#1 ")
    stage.comment(CART, "/budget $0.02")
    assert "and may cost $0.02" in stage("next", "--max-cost-per-ticket", "9").out


def limits(stage: Stage) -> list[str]:
    return (stage.cwd / "dev-shop/limits.txt").read_text().split()[1::2]


def test_a_worker_gets_what_is_left(stage: Stage) -> None:
    """Each of two steps costs a cent, and so does a check."""
    stage.script(work=[SEES, HALF], check=[{"run": "echo cart"}, {"recheck": True}])
    cap = {"COLONY_MAX_COST_PER_TICKET": "0.50"}
    assert work(stage, **cap) == 0
    spent = round(sum(part["costUsd"] for part in stage.record()["parts"]) * 100)
    assert spent > 2
    assert work(stage, **cap) == 0
    assert work(stage, **cap, COLONY_MAX_BUDGET_USD="0.07") == 0
    assert limits(stage) == ["0.50", f"{(50 - spent) / 100:.2f}", "0.07"]
    briefs = [(run / "brief.md").read_text() for run in sorted(stage.runs, key=began)]
    said = ["$0.50", f"${(50 - spent) / 100:.2f}", "$0.07"]
    for brief, money in zip(briefs, said, strict=True):
        assert f"- Money: at most {money}; the work is stopped when it is used up.\n" in brief


def began(run: Path) -> int:
    return (run / "brief.md").stat().st_mtime_ns


def test_without_a_cap_a_worker_may_cost_anything(stage: Stage) -> None:
    stage.script(work=[SEES, answer()])
    assert stage("work", "shop", "1", "--post").code == 0
    assert limits(stage) == []
    assert "Money" not in (stage.run / "brief.md").read_text()


def test_a_worker_that_is_stopped_by_the_cap_asks(stage: Stage) -> None:
    """Its own count may be behind: what its stream said it cost is less than the cap."""
    stopped = {"result": {"subtype": "error_max_budget_usd", "is_error": True}, "exit": 1}
    stage.script(work=[SEES, stopped])
    assert work(stage) == 1
    assert limits(stage) == ["0.05"]
    [asked] = questions(stage)
    assert "cost $0.01 and may cost $0.05" in asked.subject
    assert "the worker had spent all it may" in asked.summary
    assert moves(stage) == ["progress", "pending"]


def test_its_own_limit_stops_a_worker_and_nobody_is_asked(stage: Stage) -> None:
    stopped = {"result": {"subtype": "error_max_budget_usd", "is_error": True}, "exit": 1}
    stage.script(work=[SEES, stopped])
    assert work(stage, COLONY_MAX_BUDGET_USD="0.02") == 1
    assert (limits(stage), questions(stage)) == (["0.02"], [])
    assert moves(stage) == ["progress", "open"]


def test_a_budget_below_the_cost_asks_at_once(stage: Stage) -> None:
    stage.script(work=SILENT, cost=0.03)
    assert stage("work", "shop", "1", "--post").code == 1
    stage.comment(CART, "/budget $0.02")
    stage.script(work=[{"run": "touch ran"}, answer()])
    done = stage("work", "shop", "1", "--post")
    assert (done.code, "PART" in done.out) == (1, False)
    assert not (stage.cwd / "dev-shop/ran").exists()
    [asked] = questions(stage)
    assert "cost $0.03 and may cost $0.02" in asked.subject
    assert stage.row(CART).state == "pending"


def test_a_stop_at_the_cap(stage: Stage) -> None:
    stage.script(work=[{"run": "true"}, {"limit": "five_hour"}], cost=0.06)
    assert stage("work", "shop", "1", "--post").code == 0
    stage.comment(CART, "/budget $0.05")
    done = stage("stop", stage.run.name)
    told = "shop#1 has cost all that it may: its creator is asked"
    assert (done.code, done.lines[-1]) == (0, f"STOP {stage.run.name} — {told}")
    assert (stage.row(CART).state, len(questions(stage))) == ("pending", 1)


# --- in the loop -----------------------------------------------------------------------------


def ends_of(running: Loop, count: int) -> None:
    for _ in range(count):
        running.until("session.end")


def ended(running: Loop) -> None:
    running.send(signal.SIGTERM)
    assert running.ends() == 0


def test_the_loop_asks_and_goes_on(stage: Stage) -> None:
    """The cap is an option of the loop: its sessions keep to it, too."""
    stage.script(work=SILENT, cost=0.03)
    with loop(stage, "--max-cost-per-ticket", "0.05", "--max-starts-per-hour", "0") as running:
        ends_of(running, 2)
        until(lambda: stage.row(CART).state == "pending")
        assert len(questions(stage)) == 1
        stage.script(work=[answer()])
        stage.comment(CART, "/budget $1")
        assert stage("ticket", "answer", "shop", "2", "Go on.").code == 0
        until(lambda: stage.row(CART).state == "review")
        ended(running)
    assert len(stage.runs) == 3


def test_results_that_wait_hold_what_is_new(stage: Stage) -> None:
    """shop#1 waits to be tried, shop#2 is new, bank#1 is another project's."""
    stage.move(CART, "review")
    stage.ticket(subject="A lamp")
    why = "1 result waits for the creator of shop: nothing new yet"
    full = {"COLONY_MAX_REVIEW": "1"}
    told = stage("next", **full)
    assert f'  shop#2 "A lamp" — {why}' in told.lines
    explained = stage("explain", "shop", "2", **full).lines
    assert explained[0] == f"EXPLAIN shop#2 is not started: {why}"
    assert explained[1].endswith("try what waits: colony ticket list --project shop --state review")
    # From its first loop on the tracker knows Colony: hosts are told of by a user.
    assert stage("run", "--once", **full).code == 0
    before = stage.store()
    refused = stage("work", "shop", "2", "--post", "--max-review", "1")
    assert (refused.code, refused.lines[-1]) == (
        3, f"work: REFUSED — shop#2 is not eligible: {why}",
    )  # fmt: skip
    assert stage("cycle", "--post", **full).lines[-1] == "CYCLE — nothing to do"
    looked = stage("run", "--once", **full)
    assert f"waiting: shop#2 ({why})" in looked.out
    assert stage.store() == before
    assert stage("next", "--max-review", "2").lines[0] == 'NEXT: shop#2 "A lamp"'
    stage.register("bank")
    stage.ticket("bank", subject="A safe")
    assert stage("next", **full).lines[0] == 'NEXT: bank#1 "A safe"'
    stage.move(CART, "done")
    stage.move(Ref("bank", 1), "review")
    assert stage("next", **full).lines[0] == 'NEXT: shop#2 "A lamp"'


def test_what_was_sent_back_goes_on_whatever_waits(stage: Stage) -> None:
    other = stage.ticket(subject="A lamp")
    stage.lease(CART, stage.now_ms + 10**9)
    stage.move(CART, "review", machine=True)
    stage.move(CART, "reopened", "It squeaks.")
    stage.move(other, "review")
    third = stage.ticket(subject="A door")
    told = stage("next", "--max-review", "1")
    assert told.lines[0].startswith('NEXT: shop#1 "A cart" — sent back by anna')
    assert f'  {third} "A door" — 1 result waits for the creator of shop' in told.out
    assert stage("work", "shop", "1", "--post", "--max-review", "1").code == 0
    assert stage.row(CART).state == "review"


def test_a_result_that_was_tried_makes_room(stage: Stage) -> None:
    lamp = stage.ticket(subject="A lamp")
    with loop(stage, "--max-review", "1") as running:
        ends_of(running, 1)
        until(lambda: stage.row(CART).state == "review")
        running.until("iter")
        running.until("iter")
        assert stage.row(lamp).state == "open"
        stage.move(CART, "done")
        until(lambda: stage.row(lamp).state == "review")
        ended(running)
    assert len(stage.runs) == 2


def day(ahead: int) -> str:
    """The name of a day from now on: what opens on the day after tomorrow is closed now, at any
    hour, and what is open today and tomorrow is open."""
    return DAYS[time.gmtime(time.time() + ahead * 86_400).tm_wday]


def closed() -> dict[str, str]:
    return {"COLONY_HOURS": f"{day(2)} 10:00-11:00"}


OUTSIDE = re.compile(r"outside of COLONY_HOURS until \d{4}-\d\d-\d\d 10:00 UTC")


def test_outside_of_the_hours(stage: Stage) -> None:
    told = stage("next", **closed())
    assert told.lines[0] == 'NEXT: shop#1 "A cart"'
    assert OUTSIDE.search(told.out)
    explained = stage("explain", "shop", "1", **closed()).lines
    assert explained[0].startswith("EXPLAIN shop#1 is not started: outside of COLONY_HOURS until ")
    assert OUTSIDE.search(explained[1])
    assert explained[1].endswith(" — start it now by hand: colony work shop 1 --post")
    before = stage.store()
    for words in (("--post",), ("--dry-run",)):
        done = stage("cycle", *words, "--hours", closed()["COLONY_HOURS"])
        assert done.code == 0
        assert re.fullmatch(rf"CYCLE — nothing to do: {OUTSIDE.pattern}", done.lines[-1])
    assert (stage.store(), stage.runs) == (before, [])
    assert stage("work", "shop", "1", "--post", **closed()).code == 0
    assert stage.row(CART).state == "review"
    assert stage("cycle", **closed()).lines[-1] == "CYCLE — nothing to do"


def test_within_the_hours(stage: Stage) -> None:
    opened = {"COLONY_HOURS": f"{day(0)},{day(1)}"}
    assert "COLONY_HOURS" not in stage("next", **opened).out
    assert "  for: it is within COLONY_HOURS" in stage("explain", "shop", "1", **opened).lines
    assert stage("cycle", "--post", **opened).lines[-1] == "CYCLE END — shop#1: posted"


def test_the_hours_are_those_of_the_time_zone(stage: Stage) -> None:
    """Half a day east of UTC and half a day west it is the same hour, a day apart."""
    there = time.gmtime(time.time() + 12 * 3600)
    hours = f"{DAYS[there.tm_wday]}, {DAYS[(there.tm_wday + 1) % 7]}"
    east = stage("next", COLONY_HOURS=hours, COLONY_TZ="Etc/GMT-12")
    assert "COLONY_HOURS" not in east.out
    west = stage("next", COLONY_HOURS=hours, COLONY_TZ="Etc/GMT+12")
    assert "outside of COLONY_HOURS until " in west.out


def test_what_was_begun_goes_on_at_any_hour(stage: Stage) -> None:
    waits_once = {"run": "[ -e begun ] || { touch begun; sleep 60; }"}
    stage.script(work=[waits_once, answer()], resume=[answer()])
    process = stage.start("work", "shop", "1", "--post")
    until((stage.cwd / "dev-shop/begun").exists)
    process.kill()
    process.communicate()
    until(lambda: not session_processes(stage))
    stage.ticket(subject="A lamp")
    done = stage("cycle", "--post", **closed())
    assert (done.code, done.lines[-1]) == (0, "CYCLE END — shop#1: posted")
    assert stage("cycle", "--post", **closed()).lines[-1].startswith("CYCLE — nothing to do: out")
    assert len(stage.runs) == 1


def test_the_hours_of_the_loop(stage: Stage) -> None:
    """SIGHUP reads them again."""
    env = stage.home / ".env"
    env.write_text(f"COLONY_HOURS={closed()['COLONY_HOURS']}\n")
    with loop(stage) as running:
        line = running.until("iter", waiting={"shop#1": "hours"})
        assert OUTSIDE.search(line["text"])
        env.write_text("")
        running.send(signal.SIGHUP)
        ends_of(running, 1)
        ended(running)
    assert stage.row(CART).state == "review"


@pytest.mark.parametrize("verb", ["run", "cycle", "next"])
def test_hours_that_are_none(stage: Stage, verb: str) -> None:
    done = stage(verb, COLONY_HOURS="Mo 08:00-18:00")
    assert (done.code, done.error) == (
        2, "ERROR COLONY_HOURS Mo 08:00-18:00: a day is one of Mon Tue Wed Thu Fri Sat Sun",
    )  # fmt: skip


def test_half_done_too_often(stage: Stage) -> None:
    stage.script(work=[HALF])
    for _ in range(2):
        assert stage("work", "shop", "1", "--post", COLONY_MAX_HALF_DONE="2").code == 0
    assert moves(stage) == ["progress", "open", "progress", "pending"]
    [asked] = questions(stage)
    assert "half done 2 times in a row" in asked.subject
    assert "Still open: wheels" in asked.summary
    assert stage("ticket", "answer", "shop", "2", "Leave the wheels.").code == 0
    assert stage("next").lines[0].startswith("NEXT: shop#1 ")


def test_a_question_holds_its_ticket(stage: Stage) -> None:
    """Half done with a question; a result that is sent back after it goes on all the same."""
    asks = answer(complete=False, open=["wheels"], questions=[{"title": "Red?", "text": "Or not?"}])
    stage.script(work=[asks], check=[verdict("pass", "ok", questions=[ASK])])
    assert stage("work", "shop", "1", "--post").code == 0
    assert stage.row(CART).state == "open"
    why = "waits for the answer on shop#2"
    assert f'  shop#1 "A cart" — {why}' in stage("next").lines
    before = stage.store()
    refused = stage("work", "shop", "1", "--post")
    assert (refused.code, refused.lines[-1]) == (
        3, f"work: REFUSED — shop#1 is not eligible: {why}",
    )  # fmt: skip
    assert stage("cycle", "--post").lines[-1] == "CYCLE — nothing to do"
    assert stage.store() == before
    stage.now_ms = round(time.time() * 1000) + 60_000
    stage.move(CART, "review")
    stage.move(CART, "reopened", "Blue, please.")
    assert stage("next").lines[0].startswith('NEXT: shop#1 "A cart" — sent back by anna on ')


def test_without_an_open_question_what_is_half_done_goes_on(stage: Stage) -> None:
    stage.script(work=[HALF])
    assert stage("work", "shop", "1", "--post").code == 0
    assert stage("next").lines[0] == 'NEXT: shop#1 "A cart"'
    assert stage("work", "shop", "1", "--post").code == 0
    assert len(stage.runs) == 2


def test_too_many_starts_in_the_loop(stage: Stage) -> None:
    """Each round is half done: without the limit it would be started again and again."""
    stage.script(work=[HALF])
    with loop(stage, "--max-starts-per-hour", "2", "--max-half-done", "9") as running:
        ends_of(running, 2)
        begun = len(running.of("iter"))
        until(lambda: _iterated(running, begun + 3))
        ended(running)
    assert len(stage.runs) == 2
    assert stage.row(CART).state == "open"
    assert "2 sessions within the last hour" in stage("next", COLONY_MAX_STARTS_PER_HOUR="2").out


def _iterated(running: Loop, count: int) -> bool:
    running.until("iter")
    return len(running.of("iter")) >= count
