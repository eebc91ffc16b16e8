"""The one line that goes with a change of state; what there is to say is in the comment before."""

from __future__ import annotations

from colony.core.ticket import Ref


def to_try() -> str:
    return "Ready to be tried: the last comment says how."


def half_done() -> str:
    return "Open again: half done, the next worker goes on."


def half_done_for_good(rounds: int) -> str:
    return f"Waits for your answer: half done, {rounds} in a row."


def spent_up() -> str:
    return "Waits for your answer: it has cost all that it may."


def built() -> str:
    return "Built: waits for the next deploy."


def failed(fail: int, limit: int) -> str:
    return f"Open again: the check failed (try {fail} of {limit})."


def failed_for_good(fails: int) -> str:
    return f"Waits for your answer: the check failed {fails} times."


def no_verdict() -> str:
    return "Waits for your answer: the result could not be checked."


def asks() -> str:
    """A question that was filed in another state first."""
    return "Waits for your answer."


def answered(question: Ref) -> str:
    """The ticket waited for the answer to this question alone."""
    return f"Open again: {question} is answered."
