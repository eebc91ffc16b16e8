"""When an account's usage limit is reached, and until when.

Two kinds of sign count, and both are the program's own: a typed rate-limit event, and an error
that the program itself reports. Neither can carry a tool's output, a prompt or a model's words,
so nothing that a worker reads or writes can look like a limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from colony.coding.resets import stated_epoch, until_ms
from colony.core.turn import Limit

LIMIT_WORDS: Final = frozenset({"usage_limit_reached", "rate_limit", "billing_error"})
"""`api_error`, or `error` of a synthetic message, that say: the account may not go on now."""

_WINDOW: Final = (
    r"(?:usage|session|weekly|monthly|daily|hourly|(?:\d+|five)[ -]?hour|spend(?:ing)?|plan|account"
    r"|opus|sonnet|haiku|fable|fast)"
)
_REACHED: Final = re.compile(
    rf"\b(?:hit|reached|exceeded) (?:[\w'’-]+ ){{0,5}}?{_WINDOW}(?: \w+)? limits?\b"
    rf"|\b(?:hit|reached|exceeded) your (?:limits?|team['’]s pooled group budget|current quota)\b"
    rf"|\b{_WINDOW} limits? (?:is |was |has been )?(?:reached|exceeded|hit)(?= ?(?:[^\w\s]|$))"
    rf"|\bout of (?:extra usage|(?:usage )?credits?|usage ·)"
    rf"|\bcredit balance (?:is )?too low\b"
    rf"|\busage is paused for your organization\b"
    rf"|\busage limit is set to \$0"
    rf"|\busage allocation has been disabled\b"
    # Words that stand for an account's limit only where the program begins with them.
    rf"|^limit reached ?[·∙]"
    rf"|^quota exceeded\. check your plan\b"
    rf"|^API Error: (?:429\b|request rejected \(429\)|rate limit reached)",
    re.IGNORECASE,
)
"""An account's limits only: nothing about context, tokens, files, disk, turns."""


@dataclass(frozen=True, slots=True)
class RateEvent:
    """A typed `rate_limit_event` of the stream."""

    status: str
    window: str = ""
    resets_ms: int | None = None
    on_overage: bool = False
    """Paid extra usage carries the request, so that nothing was turned away."""


@dataclass(frozen=True, slots=True)
class ProgramError:
    """What the agent's program itself says went wrong: its own result or synthetic message."""

    text: str
    word: str = ""
    status: int | None = None
    at_ms: int | None = None
    """When it was said."""


def limit_of(sign: RateEvent | ProgramError, zone: tzinfo) -> Limit | None:
    """The limit that this sign tells of; None where it tells of none.

    `zone` is meant by a time without a zone.
    """
    if isinstance(sign, RateEvent):
        if sign.status != "rejected" or sign.on_overage:
            return None
        return Limit("the usage limit is reached", sign.resets_ms, sign.window)
    text = " ".join(sign.text.split())
    if sign.status == 429 or sign.word in LIMIT_WORDS or _REACHED.search(text):
        now_ms = sign.at_ms
        until = stated_epoch(sign.text) if now_ms is None else until_ms(sign.text, now_ms, zone)
        return Limit(sign.text, until)
    return None
