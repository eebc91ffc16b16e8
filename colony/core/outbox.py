"""The outbox: every write that ends a session, rendered before the first one is sent.

An `Effect` is a write with its bytes and its idempotency key. A retry sends the same bytes with
the same key. Only numbers of tickets that earlier effects made are filled in at sending time:
`place` marks where, a form that no text from outside can hold (NUL is replaced in all of them).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from colony.core import markers
from colony.core.attempts import in_vain
from colony.core.budget import BUDGET_SOURCE, is_used_up
from colony.core.endings import Ending
from colony.core.money import cents_of, dollars, nanos_of
from colony.core.people import STRANGER_SUFFIX
from colony.core.report import Issue, Question, Report
from colony.core.texts import (
    details,
    failed_check,
    half_done,
    handback,
    moved,
    ready,
)
from colony.core.texts import (
    issue as issue_text,
)
from colony.core.texts import (
    question as question_text,
)
from colony.core.texts import (
    report as report_text,
)
from colony.core.texts.details import Filed
from colony.core.texts.failed_check import reasons
from colony.core.texts.layout import link, price, say
from colony.core.texts.question import Asked
from colony.core.ticket import Event, NewTicket, Ref, State
from colony.core.verdict import Ruled

_PLACE: Final = re.compile("\x00([^\x00]*)\x00")
_LINE_NUMBER_MAX: Final = 10**15 - 1


@dataclass(frozen=True, slots=True)
class Effect:
    """One write. `name` is unique in its session and is the end of its idempotency key."""

    name: str
    kind: Literal["create", "block", "comment", "move"]
    new: NewTicket | None = None
    """create: the ticket to make."""
    text: str = ""
    """comment, move: the text, with places for numbers that are not known yet."""
    late_text: str = ""
    """comment: what is filed instead when the lease has been lost to another session or expired."""
    state: State | None = None
    """move: the new state."""
    by: str = ""
    """block: the name of the create whose ticket blocks this one."""
    status: Literal["planned", "done", "skipped"] = "planned"
    why: str = ""
    """skipped: the reason."""
    made: Ref | None = None
    """create: the ticket that carries this source now."""
    url: str = ""
    """create: its address."""
    event: int = 0
    """comment, move: the id of the event that was written."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How often in a row something may happen before a person is asked."""

    in_vain: int = 3
    """Sessions that brought nothing."""
    half_done: int = 6


@dataclass(frozen=True, slots=True)
class Closing:
    """What is known when a session comes to its end."""

    ticket: Ref
    url: str
    """The ticket's address; may be empty."""
    state: State
    """The ticket's state now."""
    session: str
    host: str
    live: bool = False
    """The project has a live site: built work waits for a deploy."""
    known: frozenset[str] = frozenset()
    """Projects that have a registry entry."""
    sha256: str = ""
    """Of the report's bytes, in hex."""
    cost_usd: float = 0.0
    cost_known: bool = True
    """False: a part was cut off, the cost is a lower bound."""
    runs: int = 0
    """Agent runs in the session, the check included."""
    steps: int = 0
    progress: bool = True
    out_of_steps: bool = False
    in_vain: int = 0
    """Sessions before this one, in a row, that brought nothing."""
    half_done: int = 0
    """Rounds before this one, in a row, that ended half done."""
    limits: Limits = Limits()
    earlier_cents: int = 0
    """US cents that the sessions before this one cost, as far as it is known."""
    earlier_known: bool = True
    """False: one of them was cut off, that is a lower bound."""
    cap_cents: int = 0
    """US cents that all sessions on the ticket may cost; 0: no limit."""
    cut_by_cap: bool = False
    """The worker was stopped because nothing was left of that."""
    later: tuple[Event, ...] = ()
    """People's comments that came after the brief, oldest first."""
    strangers: bool = False
    """The brief held words of people who may not order work."""
    work: str = ""
    """Where the work lies, and whether the base has it; empty: in the dev folder."""
    round: int = 1
    """Counts the ends of one session: its kept report may be checked again after a question."""

    ran_out: str = ""
    """How it ran out of memory, in words; empty: it did not."""

    @property
    def link(self) -> str:
        return link(self.ticket, self.url)

    @property
    def price(self) -> str:
        own = price(self.cost_usd, self.cost_known, self.runs)
        spent = f"{own} · {self.so_far} with the tries before" if self.earlier_cents else own
        return f"{spent} · {self.work}" if self.work else spent

    @property
    def spent(self) -> markers.Spent:
        """What later decisions need of this session, for its machine line."""
        cents = _noted(cents_of(nanos_of(self.cost_usd)))
        steps, bound = _noted(self.steps), not self.cost_known
        return markers.Spent(cents, steps, self.progress, self.out_of_steps, bound)

    @property
    def so_far_cents(self) -> int:
        """What all sessions on the ticket cost, this one too."""
        return self.earlier_cents + (self.spent.cost_cents or 0)

    @property
    def so_far(self) -> str:
        known = self.cost_known and self.earlier_known
        return f"{'' if known else 'at least '}{dollars(self.so_far_cents)}"

    @property
    def spent_up(self) -> bool:
        """The ticket has cost all that it may. Where a person moved it nobody asks for more."""
        reached = self.cut_by_cap or is_used_up(self.cap_cents, self.so_far_cents)
        return reached and self.state == "progress"

    def name(self, word: str) -> str:
        """The name of an effect that each end of the session has for itself."""
        return word if self.round == 1 else f"{word}:{self.round}"


def place(name: str) -> str:
    """Where the link to the ticket that effect `name` makes will stand."""
    return f"\x00{name}\x00"


def fill(text: str, made: Mapping[str, tuple[Ref, str]]) -> str:
    """The text with each place filled: effect name -> the ticket it made, and its address."""

    def filled(found: re.Match[str]) -> str:
        ticket = made.get(found[1])
        return link(*ticket) if ticket else "(could not be filed)"

    return _PLACE.sub(filled, text)


# --- the ends of a session -------------------------------------------------------------------


def passed(closing: Closing, report: Report) -> tuple[Effect, ...]:
    """The controller confirmed the report; `report` is what `verdict.rule` left of it."""
    return _result(closing, report, checked=True)


def unchecked(closing: Closing, report: Report) -> tuple[Effect, ...]:
    """Posted by hand: its comment says that nobody checked it."""
    return _result(closing, report, checked=False)


def sent_back(closing: Closing, ruled: Ruled, fail: int, limit: int) -> tuple[Effect, ...]:
    """The report failed its check, for the `fail`th time; at `limit` a person is asked."""
    line = markers.Verdict(closing.session, fail, limit, ruled.overruled, closing.spent)
    if closing.spent_up:
        more = _ask_for_more(closing, [f"Last time: {each}" for each in reasons(ruled.why, 1)])
        text = failed_check.spent_up(ruled.why, place(more.name), line)
        move = _move(closing, "fail:state", "pending", moved.spent_up())
        return (more, _comment(closing, "fail:comment", text), move)
    if fail < limit:
        text = failed_check.sent_back(ruled.why, line)
        return (
            _comment(closing, "fail:comment", text),
            _move(closing, "fail:state", "open", moved.failed(fail, limit)),
        )
    name = closing.name("fail:question")
    asked = question_text.failed_check(closing.ticket, closing.link, fail, ruled.why)
    text = failed_check.asked(ruled.why, place(name), line)
    return (
        _ask(closing, name, asked, f"colony-verdict:{closing.session}:question"),
        _comment(closing, "fail:comment", text),
        _move(closing, "fail:state", "pending", moved.failed_for_good(fail)),
    )


def no_verdict(closing: Closing) -> tuple[Effect, ...]:
    """Nobody could say whether the report holds: it is kept, and a person is asked."""
    name = closing.name("none:question")
    asked = question_text.no_verdict(closing.ticket, closing.link)
    source = closing.name(f"colony-verdict:{closing.session}:question:none")
    line = markers.NoVerdict(closing.session, closing.spent)
    return (
        _ask(closing, name, asked, source),
        _comment(
            closing, "none:comment", failed_check.no_verdict(place(name), closing.price, line)
        ),
        _move(closing, "none:state", "pending", moved.no_verdict()),
    )


def no_report(closing: Closing, ending: Ending) -> tuple[Effect, ...]:
    """The work ended without a report; the one write says why. Where nothing came of it time and
    again, a person is asked."""
    count = closing.in_vain + 1
    why = handback.REASONS[ending]
    if ending is Ending.OUT_OF_MEMORY:
        why = closing.ran_out or why
    if closing.spent_up:
        text = handback.spent_up(closing.session, closing.host, ending, closing.spent, why)
        last = [f"Last time: {why}."]
        return (_ask_for_more(closing, last), _move(closing, "back:state", "pending", text))
    line = markers.Run(closing.session, "", handback.how_of(ending), ending, closing.spent)
    if in_vain(line) and count >= closing.limits.in_vain:
        name = closing.name("back:question")
        tried = question_text.Tried(count, why, _cost_so_far(closing))
        asked = question_text.in_vain(closing.ticket, closing.link, tried)
        text = handback.given_up(closing.session, closing.host, ending, closing.spent, count, why)
        source = closing.name(f"colony-attempts:{closing.session}:question")
        return (
            _ask(closing, name, asked, source),
            _move(closing, "back:state", "pending", text),
        )
    text = handback.given_back(closing.session, closing.host, ending, closing.spent, why)
    return (_move(closing, "back:state", "open", text),)


def late(closing: Closing) -> tuple[Effect, ...]:
    """The lease went to somebody else before the report was judged: it is filed, nothing more."""
    effect = _comment(closing, "late:comment", "")
    return (replace(effect, text=effect.late_text),)


# --- a result --------------------------------------------------------------------------------


def _result(closing: Closing, report: Report, *, checked: bool) -> tuple[Effect, ...]:
    line = markers.Report(
        closing.session,
        closing.sha256[:12],
        passed=checked,
        half_done=not report.complete,
        ready=report.complete and closing.live,
        unchecked=not checked,
        spent=closing.spent,
    )
    filed = (*_issues(closing, report), *_questions(closing, report), *_enough(closing, report))
    text = _result_text(closing, report, line, _links(filed))
    return (
        *filed,
        _comment(closing, "comment", text),
        *_result_move(closing, line),
    )


def _result_text(closing: Closing, report: Report, line: markers.Report, filed: Filed) -> str:
    if line.ready:
        return ready.built(details.chosen([], closing.later), closing.price, line)
    bullets = details.chosen(details.details(report, filed), closing.later)
    if line.half_done:
        return half_done.result(report, bullets, closing.price, line)
    return report_text.result(report, bullets, closing.price, line)


def _enough(closing: Closing, report: Report) -> tuple[Effect, ...]:
    """Half done once more, and so often that somebody should look."""
    count = closing.half_done + 1
    if closing.spent_up and not report.complete:
        left = [f"Still open: {say(each)}" for each in report.open[:2]]
        return (_ask_for_more(closing, left),)
    if report.complete or count < closing.limits.half_done:
        return ()
    tried = question_text.Tried(count, "", _cost_so_far(closing))
    asked = question_text.half_done(closing.ticket, closing.link, tried, report)
    source = closing.name(f"colony-half-done:{closing.session}:question")
    return (_ask(closing, closing.name("half:question"), asked, source),)


def _cost_so_far(closing: Closing) -> str:
    return closing.so_far if closing.so_far_cents else ""


def _ask_for_more(closing: Closing, last: Sequence[str]) -> Effect:
    """The ticket has cost all that it may; `last` tells how it stands, one line each."""
    spending = question_text.Spending(closing.so_far_cents, closing.cap_cents, closing.so_far)
    asked = question_text.spent_up(closing.ticket, closing.link, spending, last)
    source = closing.name(f"{BUDGET_SOURCE}{closing.session}:question")
    return _ask(closing, closing.name("budget:question"), asked, source)


def _result_move(closing: Closing, line: markers.Report) -> tuple[Effect, ...]:
    if line.half_done and closing.spent_up:
        return (_move(closing, "state", "pending", moved.spent_up()),)
    if line.half_done and closing.half_done + 1 >= closing.limits.half_done:
        text = moved.half_done_for_good(closing.half_done + 1)
        return (_move(closing, "state", "pending", text),)
    if line.half_done:
        return (_move(closing, "state", "open", moved.half_done()),)
    starts: tuple[State, ...] = ("open", "reopened")
    if not line.ready:
        return (_move(closing, "state", "review", moved.to_try(), ("progress", *starts)),)
    if closing.state == "progress":
        return ()
    return (_move(closing, "state", "progress", moved.built(), starts),)


def _issues(closing: Closing, report: Report) -> list[Effect]:
    """Problems of known projects become tickets there, the others questions to a person."""
    effects = []
    for at, issue in enumerate(report.issues):
        if issue.project not in closing.known:
            asked = question_text.unknown_project(closing.ticket, closing.link, issue)
            source = f"colony-report:{closing.session}:question:{at}"
            effects.append(_ask(closing, f"question:{at}", asked, source))
            continue
        effects.append(_problem(closing, at, issue))
        if issue.blocks:
            effects.append(Effect(name=f"block:{at}", kind="block", by=f"issue:{at}"))
    return effects


def _problem(closing: Closing, at: int, issue: Issue) -> Effect:
    """What a stranger may have put into the worker's mouth waits for somebody to accept it."""
    suffix = STRANGER_SUFFIX if closing.strangers else ""
    return Effect(
        name=f"issue:{at}",
        kind="create",
        new=NewTicket(
            project=issue.project,
            subject=issue_text.subject(issue),
            summary=issue_text.summary(issue, closing.link),
            source=f"colony-report:{closing.session}:issue:{at}{suffix}",
        ),
    )


def _questions(closing: Closing, report: Report) -> list[Effect]:
    return [_question(closing, question) for question in report.questions]


def _question(closing: Closing, question: Question) -> Effect:
    asked = question_text.of_report(closing.ticket, closing.link, question)
    source = f"colony-report:{closing.session}:questions:{question.index}"
    return _ask(closing, f"questions:{question.index}", asked, source)


def _links(filed: Collection[Effect]) -> Filed:
    """Places for the links to what was filed."""
    made = [effect for effect in filed if effect.new is not None]
    return Filed(
        questions=tuple(place(each.name) for each in made if each.name.startswith("question")),
        problems=tuple(place(each.name) for each in made if each.name.startswith("issue")),
        blocking=tuple(place(each.by) for each in filed if each.kind == "block"),
    )


# --- single effects --------------------------------------------------------------------------


def _ask(closing: Closing, name: str, asked: Asked, source: str) -> Effect:
    """A question is a child of its ticket in the ticket's project, where its creators answer."""
    new = NewTicket(
        project=closing.ticket.project,
        subject=asked.subject,
        summary=asked.summary,
        source=source,
        parent=closing.ticket,
        state="pending",
    )
    return Effect(name=name, kind="create", new=new)


def _comment(closing: Closing, word: str, text: str) -> Effect:
    line = markers.Report(closing.session, closing.sha256[:12], late=True, spent=closing.spent)
    return Effect(
        name=closing.name(word), kind="comment", text=text, late_text=report_text.late(line)
    )


def _move(
    closing: Closing, word: str, state: State, text: str, starts: tuple[State, ...] = ("progress",)
) -> Effect:
    """From any other state than `starts` the ticket was moved by a person, and stays there."""
    stays = closing.state not in starts
    return Effect(
        name=closing.name(word),
        kind="move",
        text=text,
        state=state,
        status="skipped" if stays else "planned",
        why=f"the ticket is {closing.state}" if stays else "",
    )


def _noted(number: int) -> int:
    return min(max(0, number), _LINE_NUMBER_MAX)
