"""What a ticket says when a result did not pass its check, or nothing could be said about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from colony.core.markers import NoVerdict
from colony.core.markers import Verdict as VerdictLine
from colony.core.texts.layout import bullets, lay, say
from colony.core.verdict import Reason

REASONS_MAX: Final = 3


def sent_back(why: Sequence[Reason], machine: VerdictLine) -> str:
    line = (
        "Not all of the result could be shown when it was checked. Another try follows."
        if machine.overruled
        else "The result was checked and is not what it claims. Another try follows."
    )
    return lay(line, bullets(reasons(why)), machine=machine)


def asked(why: Sequence[Reason], question: str, machine: VerdictLine) -> str:
    """`question`: link to the question that the ticket waits for now."""
    line = f"The result has failed its check {machine.fail} times. Your answer decides: {question}"
    return lay(line, bullets(reasons(why)), machine=machine)


def spent_up(why: Sequence[Reason], question: str, machine: VerdictLine) -> str:
    """As `asked`, where the ticket has cost all that it may."""
    line = "The result did not pass its check, and the ticket has cost all that it may."
    return lay(f"{line} Your answer decides: {question}", bullets(reasons(why)), machine=machine)


def no_verdict(question: str, price: str, machine: NoVerdict) -> str:
    return lay(
        "There is a result, but its check gave no answer. The report is kept.",
        f"Your answer decides: {question}",
        price,
        machine=machine,
    )


def reasons(why: Sequence[Reason], limit: int = REASONS_MAX) -> list[str]:
    return [_reason(each) for each in why[:limit]]


def _reason(reason: Reason) -> str:
    match reason.kind:
        case "not true":
            return f"Not true: {say(reason.text)}"
        case "not shown":
            return f"Not shown: {say(reason.text)}"
        case "packed":
            return f"More than one decision in one question: {say(reason.text)}"
        case "summary":
            return f"The check says: {say(reason.text)}"
        case _:
            assert_never(reason.kind)
