"""Seed mission 027, one fix step: a report that is missing or refused is asked for once more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from shop import NOTE, Script, Shop, worker

from colony.core.endings import Ending
from colony.core.last_line import Ended
from colony.core.markers import Run, marker_of
from colony.core.session import Outcome

REFUSED: list[Script] = [{"exactly": {"result": "no more than this"}}]
SILENT: list[Script] = [{"say": "That is all."}]
KILLED: Script = {"run": "kill -9 $PPID"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Which edge reaches the tracker plays no part here."""
    made = Shop(tmp_path / "shop")
    yield made
    made.close()


def kinds(told: Ended) -> list[str]:
    return [part.kind for part in told.facts.parts]


def test_a_refused_report_is_put_right_and_posted(shop: Shop) -> None:
    shop.play(work=REFUSED, fix=worker())
    told = shop.work(finalize_max_turns=8)
    assert (told.facts.outcome, shop.state) == (Outcome.POSTED, "review")
    assert kinds(told) == ["work", "fix", "check"]
    first, second, _ = told.facts.parts
    assert (second.resumes, second.agent_session) == (True, first.agent_session)
    asked = (shop.folder_of(told.facts.session).path / "finalize.md").read_text("utf-8")
    assert asked.startswith("# FIX YOUR REPORT")
    assert "'verified' is missing" in asked
    assert "change nothing" in asked
    assert f"colony-finalize: {told.facts.session}" in asked
    [said] = [each.text for each in shop.lines if each.kind == "work.finalize"]
    assert "the worker had its report refused" in said
    assert shop.kinds().index("report.refused") < shop.kinds().index("report.ok")


@pytest.mark.parametrize("script", [REFUSED, SILENT], ids=["refused", "missing"])
def test_refused_again_it_is_open_once(shop: Shop, script: list[Script]) -> None:
    shop.play(work=REFUSED, fix=script)
    told = shop.work(finalize_max_turns=8)
    assert kinds(told) == ["work", "fix"]
    assert (told.facts.outcome, told.exit_code, shop.state) == (Outcome.NO_REPORT, 1, "open")
    found = [marker_of(each) for each in shop.history().events]
    [line] = [each for each in found if isinstance(each, Run)]
    assert (line.how, line.reason) == ("no report", Ending.BAD_REPORT)
    moves = [each for each in shop.history().events if each.after == "open" and each.before]
    assert len(moves) == 1


def test_without_steps_for_it_there_is_none(shop: Shop) -> None:
    shop.play(work=REFUSED, fix=worker())
    told = shop.work(finalize_max_turns=0)
    assert (kinds(told), told.facts.outcome) == (["work"], Outcome.NO_REPORT)


CUT = '{"type": "result", "subtype": "success", "structured_output": {"result": "HALF OF'
MISSING: dict[str, list[Script]] = {
    "missing": SILENT,
    "no result event": [NOTE, {"exit": 0}],
    "cut": [NOTE, {"raw": CUT}, {"exit": 0}],
    "an error that says success": [{"result": {"is_error": False, "result": "Done!"}}],
}


@pytest.mark.parametrize("how", MISSING)
def test_a_result_that_is_missing_or_cut_is_asked_for_once(shop: Shop, how: str) -> None:
    shop.play(work=MISSING[how], fix=worker())
    told = shop.work(finalize_max_turns=8)
    assert told.facts.parts[0].ended is Ending.NO_REPORT
    assert (kinds(told), told.facts.outcome) == (["work", "fix", "check"], Outcome.POSTED)
    assert "HALF OF" not in "\n".join(shop.told())


@pytest.mark.parametrize("cut", ["a result in the middle", "an answer not yet a result"])
def test_half_an_answer_of_a_killed_part_is_never_read(shop: Shop, cut: str) -> None:
    """A sentence cut by a kill was posted as the agent's question."""
    block = {"type": "tool_use", "id": "t", "name": "StructuredOutput"}
    given = {"result": "HALF OF", "questions": [{"title": "HALF OF?", "text": "HALF OF"}]}
    message = {"role": "assistant", "content": [{**block, "input": given}]}
    whole: Script = {"event": {"type": "assistant", "message": message}}
    half: Script = {"raw": CUT} if cut == "a result in the middle" else whole
    shop.play(work=[NOTE, half, KILLED], resume=worker())
    told = shop.work(finalize_max_turns=8)
    first, second, _ = told.facts.parts
    assert (first.ended, first.answer_sha256) == (Ending.KILLED, "")
    assert (second.kind, second.resumes) == ("work", True)
    assert told.facts.report is not None
    assert (told.facts.report.part, told.facts.outcome) == (2, Outcome.POSTED)
    assert "HALF OF" not in "\n".join(shop.told())
    assert shop.others == []


# --- a conversation that cannot be taken up ---------------------------------------------------

LIMIT: list[Script] = [{"say": "I begin."}, {"limit": "five_hour", "reset_in": 60}]
SAME_400: list[Script] = [{"error": "messages.7: invalid high surrogate", "status": 400}]


def said_so(shop: Shop) -> list[str]:
    return [each.text for each in shop.lines if "begins anew" in each.text]


def test_a_conversation_that_is_gone_begins_anew_and_says_so(shop: Shop) -> None:
    shop.play(work=LIMIT)
    session = shop.work(finalize_max_turns=8).facts.session
    for kept in shop.folder_of(session).path.glob("agent/stand-in/*.json"):
        kept.unlink()
    shop.play()
    shop.time.pass_by(10_000)
    told = shop.go(session)
    first, second, third, _ = told.facts.parts
    assert (second.ended, second.resumes) == (Ending.POISONED, True)
    assert (third.kind, third.resumes) == ("work", False)
    assert third.agent_session != first.agent_session
    assert told.facts.outcome == Outcome.POSTED
    assert len(said_so(shop)) == 1


def test_the_same_refusal_twice_cannot_be_taken_up(shop: Shop) -> None:
    """A transcript with half an emoji is refused (HTTP 400) each time it is sent."""
    shop.play(work=SAME_400, resume=SAME_400)
    session = shop.new(finalize_max_turns=8, crash_resumes=2).session

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and len(parts) == 2 and parts[-1].ended:
            script = {"work": worker(), "resume": SAME_400}
            shop.script.write_text(json.dumps(script))

    told = shop.go(session, saved=saved)
    assert [part.ended for part in told.facts.worked] == [
        Ending.CRASHED,
        Ending.POISONED,
        Ending.REPORT,
    ]
    assert told.facts.outcome == Outcome.POSTED
    assert len(said_so(shop)) == 1
