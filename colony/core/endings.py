"""How a part ended: one word of a closed list, and whom it belongs to.

The word alone decides what follows. *ticket*: an attempt at the ticket was spent. *account*: the
login is held, the ticket loses nothing. *host*: this machine is the cause. *ours*: Colony or its
operator ended it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from colony.core.turn import Turn

Owner = Literal["ticket", "account", "host", "ours"]


class Ending(StrEnum):
    REPORT = "report"
    NO_REPORT = "no report"
    BAD_REPORT = "bad report"
    OUT_OF_STEPS = "out of steps"
    OUT_OF_TIME = "out of time"
    STALLED = "stalled"
    OUT_OF_BUDGET = "out of budget"
    OUT_OF_MEMORY = "out of memory"
    TOO_LONG = "too long"
    REFUSED = "refused"
    LIMIT = "limit"
    NEAR_LIMIT = "near limit"
    LOGIN = "login"
    PROVIDER = "provider"
    MODEL = "model"
    NO_BOX = "no box"
    NO_ROOM = "no room"
    NO_AGENT = "no agent"
    DISK = "disk"
    STOPPED = "stopped"
    KILLED = "killed"
    CRASHED = "crashed"
    LEASE_LOST = "lease lost"
    POISONED = "poisoned"


BELONGS: Final[dict[Ending, Owner]] = {
    Ending.REPORT: "ticket",
    Ending.NO_REPORT: "ticket",
    Ending.BAD_REPORT: "ticket",
    Ending.OUT_OF_STEPS: "ticket",
    Ending.OUT_OF_TIME: "ticket",
    Ending.STALLED: "ticket",
    Ending.OUT_OF_BUDGET: "ticket",
    Ending.OUT_OF_MEMORY: "ticket",
    Ending.TOO_LONG: "ticket",
    Ending.REFUSED: "ticket",
    Ending.LIMIT: "account",
    Ending.NEAR_LIMIT: "account",
    Ending.LOGIN: "account",
    Ending.PROVIDER: "account",
    Ending.MODEL: "account",
    Ending.NO_BOX: "host",
    Ending.NO_ROOM: "host",
    Ending.NO_AGENT: "host",
    Ending.DISK: "host",
    Ending.STOPPED: "ours",
    Ending.KILLED: "ours",
    Ending.CRASHED: "ours",
    Ending.LEASE_LOST: "ours",
    Ending.POISONED: "ours",
}

Cause = Literal["time", "stop", "lease", "stall", "disk", "memory"]
"""Why Colony itself ended a part."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How the process ended: an exit code, or the number of the signal that killed it."""

    code: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a part from elsewhere than its stream."""

    out_of_memory: bool = False
    """The kernel ended the part, or something in it, for want of memory."""
    refused_before: str = ""
    """`refusal_of` the run that this one resumed."""


NOTHING_MORE: Final = Known()


def ending_of(
    turn: Turn, exit_: Exit, cause: Cause | None, stderr: str = "", known: Known = NOTHING_MORE
) -> Ending:
    """The one place where a part's end is named.

    `stderr` is the agent's own (its start-up errors go there), clipped; `cause` is set where
    Colony ended the part. A part whose stream holds a structured answer ended with `report`
    unless Colony took its lease away: what was finished is never thrown away.
    """
    if cause == "lease":
        return Ending.LEASE_LOST
    if turn.has_structured:
        return Ending.REPORT
    if cause is not None:
        return BY_CAUSE[cause]
    if turn.finished:
        return _of_result(turn, known)
    if known.out_of_memory:
        return Ending.OUT_OF_MEMORY
    return _of_stderr(turn, stderr) or _of_error(turn, known) or _of_exit(turn, exit_)


def refusal_of(turn: Turn) -> str:
    """What the provider refused about the conversation itself (HTTP 400), else empty.

    The same refusal again after a resume means that the conversation cannot be resumed.
    """
    return turn.text if turn.is_error and turn.api_status == 400 else ""


def last_words(turn: Turn, ending: Ending, stderr: str) -> str:
    """What the agent's program itself said of why it ended so; empty where it said nothing.

    Its own error comes first. What stands on its standard error speaks of the end only where no
    answer of a model was to be had: else it may be any warning.
    """
    if turn.has_structured:
        return ""
    if turn.is_error and turn.text.strip():
        return turn.text
    if ending not in SPOKEN_OF and turn.events:
        return ""
    return next((each for each in reversed(stderr.splitlines()) if each.strip()), "")


# --- the table -----------------------------------------------------------------------------

BY_CAUSE: Final[dict[Cause, Ending]] = {
    "time": Ending.OUT_OF_TIME,
    "stop": Ending.STOPPED,
    "lease": Ending.LEASE_LOST,
    "stall": Ending.STALLED,
    "disk": Ending.DISK,
    "memory": Ending.OUT_OF_MEMORY,
}

BY_SUBTYPE: Final[dict[str, Ending]] = {
    "error_max_turns": Ending.OUT_OF_STEPS,
    "error_max_budget_usd": Ending.OUT_OF_BUDGET,
    "error_max_structured_output_retries": Ending.BAD_REPORT,
}

BY_TERMINAL_REASON: Final[dict[str, Ending]] = {
    "blocking_limit": Ending.TOO_LONG,
    "prompt_too_long": Ending.TOO_LONG,
    "rapid_refill_breaker": Ending.TOO_LONG,
    "image_error": Ending.POISONED,
    "malformed_tool_use_exhausted": Ending.NO_REPORT,
    "aborted_streaming": Ending.KILLED,
    "aborted_tools": Ending.KILLED,
    "stop_hook_prevented": Ending.NO_REPORT,
    "hook_stopped": Ending.NO_REPORT,
    "tool_deferred": Ending.NO_REPORT,
    "tool_deferred_unavailable": Ending.NO_REPORT,
    "background_requested": Ending.NO_REPORT,
    "max_turns": Ending.OUT_OF_STEPS,
    "budget_exhausted": Ending.OUT_OF_BUDGET,
    "structured_output_retry_exhausted": Ending.BAD_REPORT,
    "turn_setup_failed": Ending.CRASHED,
}
"""`api_error`, `model_error` and `completed` say nothing by themselves."""

BY_API_ERROR: Final[dict[str, Ending]] = {
    "usage_limit_reached": Ending.LIMIT,
    "rate_limit": Ending.LIMIT,
    "rate_limit_error": Ending.LIMIT,
    "billing_error": Ending.LIMIT,
    "model_requires_usage_credits": Ending.MODEL,
    "model_not_found": Ending.MODEL,
    "stored_login_refused": Ending.LOGIN,
    "org_disabled_credential": Ending.LOGIN,
    "authentication_failed": Ending.LOGIN,
    "authentication_error": Ending.LOGIN,
    "permission_error": Ending.LOGIN,
    "oauth_org_not_allowed": Ending.LOGIN,
    "account_on_hold": Ending.LOGIN,
    "verification_required": Ending.LOGIN,
    "cloud_credential_error": Ending.LOGIN,
    "connection_failed": Ending.PROVIDER,
    "stream_idle_timeout": Ending.PROVIDER,
    "no_response": Ending.PROVIDER,
    "overloaded": Ending.PROVIDER,
    "overloaded_error": Ending.PROVIDER,
    "server_error": Ending.PROVIDER,
    "claude_code_version_too_old": Ending.NO_BOX,
    "max_output_tokens": Ending.TOO_LONG,
    "request_too_large": Ending.TOO_LONG,
}

BY_STATUS: Final[dict[int, Ending]] = {
    401: Ending.LOGIN,
    402: Ending.LIMIT,
    403: Ending.LOGIN,
    404: Ending.MODEL,
    408: Ending.PROVIDER,
    413: Ending.TOO_LONG,
    429: Ending.LIMIT,
}
"""Other 4xx: `crashed`, and `poisoned` at the second time. 5xx: `provider`."""

BY_ERROR_TEXT: Final[tuple[tuple[str, Ending], ...]] = (
    (r"no conversation found", Ending.POISONED),
    (
        r"not logged in|/login\b|invalid api key|invalid bearer|oauth token|authenticat"
        r"|session expired",
        Ending.LOGIN,
    ),
    (r"issue with the selected model", Ending.MODEL),
    (r"prompt is too long", Ending.TOO_LONG),
    (
        r"timed out|connection|unable to connect|ECONN|ENOTFOUND|EAI_AGAIN|fetch failed"
        r"|overloaded|server-side issue",
        Ending.PROVIDER,
    ),
)
"""For an error without a word and a status. Only the program's own error text is looked at."""

BY_STDERR: Final[tuple[tuple[str, Ending], ...]] = (
    (r"no conversation found with session id", Ending.POISONED),
    (r"session id \S+ is already in use", Ending.POISONED),
    (r"unknown option|cannot be used with root|settings file not found", Ending.NO_BOX),
    (r"not logged in|please run /login|invalid api key", Ending.LOGIN),
)
"""Start-up errors. `no box` is the host's word for: an agent cannot be started here as it must
be, be it the box, an option that the installed program does not know, or a missing program."""

SPOKEN_OF: Final = frozenset(
    {Ending.CRASHED, Ending.NO_BOX, Ending.LOGIN, Ending.POISONED, Ending.DISK}
)
"""Endings whose reason a program tells on its standard error."""

NO_SPACE: Final = (("no space left on device|ENOSPC|EDQUOT", Ending.DISK),)

ENDED_FROM_OUTSIDE: Final = frozenset({1, 2, 9, 15})
"""SIGHUP, SIGINT, SIGKILL, SIGTERM. Other signals are the program's own fault."""
CANNOT_START: Final = frozenset({126, 127})
"""A shell's exit codes for a program that cannot be executed or is not there."""


# --- reading it ----------------------------------------------------------------------------


def _of_result(turn: Turn, known: Known) -> Ending:
    if turn.limit is not None:
        return Ending.LIMIT
    named = BY_SUBTYPE.get(turn.subtype)
    if named is not None:
        return named
    if turn.stop_reason == "refusal":
        return Ending.REFUSED
    named = BY_TERMINAL_REASON.get(turn.terminal_reason)
    if named is not None:
        return named
    if turn.is_error:
        return _of_error(turn, known) or Ending.CRASHED
    return Ending.NEAR_LIMIT if turn.near_limit else Ending.NO_REPORT


def _of_error(turn: Turn, known: Known) -> Ending | None:
    """By what the program says of the provider: its word, then the status, then its text."""
    if turn.limit is not None:
        return Ending.LIMIT
    if not turn.is_error:
        return None
    if turn.api_error in BY_API_ERROR:
        return BY_API_ERROR[turn.api_error]
    if turn.api_status is None:
        return _by_text(BY_ERROR_TEXT, turn.text)
    if turn.api_status in BY_STATUS:
        return BY_STATUS[turn.api_status]
    if turn.api_status >= 500:
        return Ending.PROVIDER
    refused = refusal_of(turn)
    return Ending.POISONED if refused and refused == known.refused_before else Ending.CRASHED


def _of_stderr(turn: Turn, stderr: str) -> Ending | None:
    """A start-up error says nothing about a run in which a model answered."""
    table = NO_SPACE if turn.models else (*NO_SPACE, *BY_STDERR)
    return _by_text(table, stderr)


def _of_exit(turn: Turn, exit_: Exit) -> Ending:
    signal = exit_.signal
    if signal is None and exit_.code is not None and exit_.code > 128:
        signal = exit_.code - 128
    if signal is not None:
        return Ending.KILLED if signal in ENDED_FROM_OUTSIDE else Ending.CRASHED
    if exit_.code in CANNOT_START and turn.events == 0:
        return Ending.NO_BOX
    return Ending.NO_REPORT if exit_.code == 0 else Ending.CRASHED


def _by_text(table: tuple[tuple[str, Ending], ...], text: str) -> Ending | None:
    for pattern, ending in table:
        if re.search(pattern, text, re.IGNORECASE):
            return ending
    return None
