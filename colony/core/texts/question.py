"""The tickets that ask a person to decide: subject and summary of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from colony.core.lines import clip
from colony.core.money import dollars
from colony.core.report import QUESTION_LINES_MAX, QUESTION_TITLE_MAX, Issue, Question, Report
from colony.core.texts.failed_check import reasons
from colony.core.texts.issue import observations
from colony.core.texts.layout import bullets, lay, listed, say
from colony.core.ticket import Ref
from colony.core.verdict import Reason

_QUESTION_WORDS_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class Asked:
    """`subject` is plain text, `summary` Markdown."""

    subject: str
    summary: str


def of_report(ticket: Ref, link: str, question: Question) -> Asked:
    """What a worker wants to know. `link` leads to the ticket, here and below."""
    lines = [line for line in question.text.splitlines() if line.strip()][:QUESTION_LINES_MAX]
    return Asked(
        _about(ticket, clip(question.title, QUESTION_TITLE_MAX)),
        lay(
            *(say(line, _QUESTION_WORDS_MAX) for line in lines),
            f"Asked during the work on {link}. **Answer** in a comment; the next worker gets it.",
        ),
    )


def unknown_project(ticket: Ref, link: str, issue: Issue) -> Asked:
    """A problem that belongs to a project which nobody knows."""
    return Asked(
        _about(ticket, f'where does "{clip(issue.subject, 100)}" belong?'),
        lay(
            f'During the work on {link} a problem of "{say(issue.project, 60)}" was found,'
            " a project that Colony does not know.",
            "**Answer** with the project it belongs to, or with what to do instead.",
            *observations(issue),
        ),
    )


def failed_check(ticket: Ref, link: str, fails: int, why: Sequence[Reason]) -> Asked:
    """Trying once more would be trying the same."""
    return Asked(
        _about(ticket, f"the result failed its check {fails} times. How shall it go on?"),
        lay(
            f"{fails} results for {link} were checked, and none of them held.",
            "**What to do:** answer here what the next worker shall do differently. Or cancel"
            " that ticket.",
            bullets([f"Last time: {each}" for each in reasons(why, 1)]),
        ),
    )


@dataclass(frozen=True, slots=True)
class Tried:
    """How often, how it ended last (plain words), and what all of it cost (empty: not known)."""

    count: int
    why: str
    cost: str

    @property
    def times(self) -> str:
        return f"{self.count} times in a row" if self.count > 1 else "once"

    @property
    def so_far(self) -> list[str]:
        return [f"All work on it so far cost {self.cost}."] if self.cost else []


def in_vain(ticket: Ref, link: str, tried: Tried) -> Asked:
    """Nothing came of it, time and again."""
    attempts = "attempts" if tried.count > 1 else "attempt"
    return Asked(
        _about(ticket, f"{tried.count} {attempts} brought nothing. How shall it go on?"),
        lay(
            f"{link} was tried {tried.times}, and no result was left.",
            "**What to do:** answer here what the next worker shall do differently, for example a"
            " smaller first step; then it is tried again. Or cancel that ticket.",
            bullets([f"Last time: {tried.why}.", *tried.so_far]),
        ),
    )


def half_done(ticket: Ref, link: str, tried: Tried, report: Report) -> Asked:
    """Each round brings it on, and it does not end."""
    left = [say(item) for item in report.open[:3]]
    return Asked(
        _about(ticket, f"half done {tried.times}. How shall it go on?"),
        lay(
            f"Work on {link} was half done {tried.times}: it comes on and does not end.",
            "**What to do:** answer here whether it shall go on like this, or what can be left out."
            " Cutting it into smaller tickets helps most.",
            bullets([*(f"Still open: {each}" for each in left), *tried.so_far]),
        ),
    )


@dataclass(frozen=True, slots=True)
class Spending:
    """US cents: what a ticket has cost, and what it may."""

    cost: int
    cap: int
    said: str
    """The cost in words, which may be a lower bound."""

    @property
    def more(self) -> str:
        """A budget that leaves as much again, in whole dollars."""
        return f"${-(-(self.cost + self.cap) // 100)}"


def spent_up(ticket: Ref, link: str, spending: Spending, last: Sequence[str]) -> Asked:
    """The ticket is not finished, and has cost all that it may. `last`: how it stands."""
    cost, cap = spending.said, dollars(spending.cap)
    return Asked(
        _about(ticket, f"it has cost {cost} and may cost {cap}. How shall it go on?"),
        lay(
            f"Work on {link} has cost {cost}, it may cost {cap}, and it is not finished.",
            f'**What to do:** comment "/budget {spending.more}" (or another sum) on that ticket,'
            " then answer here: it goes on. Or cancel that ticket.",
            bullets(last),
        ),
    )


def no_verdict(ticket: Ref, link: str) -> Asked:
    """A result that nobody could check."""
    return Asked(
        _about(ticket, "the result could not be checked. How shall it go on?"),
        lay(
            f"There is a result for {link}, but its check gave no answer, time and again.",
            "**What to do:** any answer here lets the kept result be checked once more.",
        ),
    )


def no_concept(project: str, waiting: Sequence[str]) -> Asked:
    """`waiting`: links to the tickets that cannot start, here and below."""
    return Asked(
        f"Question: what is {clip(project, 64)} meant to become? It has no concept yet",
        lay(
            "Nobody works on a project before its concept is written.",
            "**What to do:** write the concept and name its file in the project's registry entry.",
            bullets([f"Waiting: {listed(waiting)}"] if waiting else []),
        ),
    )


def not_set_up(project: str, waiting: Sequence[str]) -> Asked:
    return Asked(
        f"Question: where does the code of {clip(project, 64)} live? It is not set up yet",
        lay(
            "The project has tickets, but no entry in the registry.",
            "**What to do:** write its registry entry, or answer that nobody shall work on it.",
            bullets([f"Waiting: {listed(waiting)}"] if waiting else []),
        ),
    )


def _about(ticket: Ref, what: str) -> str:
    return f"Question ({ticket}): {what}"
