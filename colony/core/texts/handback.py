"""What a ticket says when a session gives it back without a result."""

from __future__ import annotations

from typing import Final, Literal

from colony.core.endings import BELONGS, Ending
from colony.core.markers import Run, Spent
from colony.core.texts.layout import lay

REASONS: Final[dict[Ending, str]] = {
    Ending.REPORT: "its report could not be read again",
    Ending.NO_REPORT: "the worker stopped without saying what it did",
    Ending.BAD_REPORT: "the worker's report did not keep to its form",
    Ending.OUT_OF_STEPS: "the worker had used all its steps",
    Ending.OUT_OF_TIME: "the worker's time was up",
    Ending.STALLED: "the worker was silent for too long",
    Ending.OUT_OF_BUDGET: "the worker had spent all it may",
    Ending.OUT_OF_MEMORY: "it ran out of memory",
    Ending.TOO_LONG: "the worker's conversation had grown too long",
    Ending.REFUSED: "the model declined the task",
    Ending.LIMIT: "the account has used up its limit",
    Ending.NEAR_LIMIT: "the account has nearly used up its limit",
    Ending.LOGIN: "the coding agent is not logged in",
    Ending.PROVIDER: "the model's provider did not answer",
    Ending.MODEL: "the chosen model is not available",
    Ending.NO_BOX: "the work could not be closed off from the computer",
    Ending.NO_ROOM: "the computer has no room for the work",
    Ending.NO_AGENT: "the coding agent does not run on its computer at the moment",
    Ending.DISK: "the computer's disk is full",
    Ending.STOPPED: "it was stopped",
    Ending.KILLED: "it was ended from outside",
    Ending.CRASHED: "it broke off",
    Ending.LEASE_LOST: "somebody else had taken the ticket",
    Ending.POISONED: "the worker's conversation could not be taken up again",
}
"""Why, in words that need no knowledge of programs."""


def how_of(ending: Ending) -> Literal["no report", "given back"]:
    """Whether an attempt was spent."""
    return "no report" if BELONGS[ending] == "ticket" else "given back"


def given_up(
    session: str, host: str, ending: Ending, spent: Spent, count: int, why: str = ""
) -> str:
    """The text of the move to `pending`, after so many attempts in a row. `why`: more than its
    word says, here and below."""
    return lay(
        f"Waits for your answer: {count} attempts in a row brought nothing; this time"
        f" {why or REASONS[ending]}.",
        machine=Run(session, host, how_of(ending), ending, spent),
    )


def spent_up(session: str, host: str, ending: Ending, spent: Spent, why: str = "") -> str:
    """The text of the move to `pending` of a ticket that has cost all that it may."""
    return lay(
        f"Waits for your answer: it has cost all that it may; this time {why or REASONS[ending]}.",
        machine=Run(session, host, how_of(ending), ending, spent),
    )


def given_back(session: str, host: str, ending: Ending, spent: Spent, why: str = "") -> str:
    """The text of the move to `open`."""
    why = why or REASONS[ending]
    if BELONGS[ending] == "ticket":
        return lay(
            f"Open again: there is no usable result, {why}. The next worker tries.",
            machine=Run(session, host, "no report", ending, spent),
        )
    return lay(
        f"Open again: the work was interrupted, {why}. It will be started anew.",
        machine=Run(session, host, "given back", ending, spent),
    )
