"""What a machine line can say: one frozen value a line.

Times are integer milliseconds UTC, from 0 to below 10^15. `session` is never empty; `host` may
be, then its part is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Phase = Literal["worker", "controller"]
"""What a park interrupted."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a session had used up when its line was written; None: not noted."""

    cost_cents: int | None = None
    """US cents of the whole session."""
    steps: int | None = None
    progress: bool | None = None
    """Whether it left a report or anything new in its tree."""
    out_of_steps: bool = False
    """Its worker had used all its steps."""
    lower_bound: bool = False
    """A part was cut off before it said what it cost: the session cost more than is noted."""


NOTHING_NOTED = Spent()


LeaseWord = Literal["started", "renewed", "resumed", "salvage", "queued", "claimed"]


@dataclass(frozen=True, slots=True)
class LeaseLine:
    """`colony-lease: S · host H · started · ms N`

    *salvage* takes a ticket to post an earlier session's report. *queued* and *claimed* have no
    expiry: an order's own row is the lease while a runner has it or may take it. *started* without
    one is the oldest form, `session S started on H`, which nobody writes any more.
    """

    session: str
    host: str
    kind: LeaseWord
    until_ms: int | None = None
    park: int = 0
    """resumed: after which park, `resumed (park 1)`; 0 for the other kinds."""


@dataclass(frozen=True, slots=True)
class Parked:
    """`colony-parked: S · host H · phase worker · resume-ms N · ms N`"""

    session: str
    host: str
    phase: Phase
    resume_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class LeaseExpired:
    """`colony-lease-expired: S · host H`: given back by somebody else, since it was silent."""

    session: str
    host: str


@dataclass(frozen=True, slots=True)
class Run:
    """`colony-run: S · host H · no report[ · reason out of steps]`, or `· given back`.

    *no report*: an attempt was spent. *given back*: the session could not go on for a reason that
    is not the ticket's. `reason` is a word of `core.endings`, empty in old lines.
    """

    session: str
    host: str
    how: Literal["no report", "given back"]
    reason: str = ""
    spent: Spent = NOTHING_NOTED


@dataclass(frozen=True, slots=True)
class Report:
    """`colony-report: S · sha256 H[ · controller pass][ · half done][ · ready to deploy]…`

    `sha256` is the first 12 hex digits of the hash of the report's bytes.
    """

    session: str
    sha256: str
    passed: bool = False
    """`controller pass`: a second session confirmed it."""
    half_done: bool = False
    ready: bool = False
    """`ready to deploy`: built, waits for the deploy of a live site."""
    unchecked: bool = False
    """Posted by hand, no controller saw it."""
    late: bool = False
    """Filed after the lease was lost: it changes nothing."""
    spent: Spent = NOTHING_NOTED


@dataclass(frozen=True, slots=True)
class Verdict:
    """`colony-verdict: S · fail · K of N[ · overruled]`"""

    session: str
    fail: int
    limit: int
    overruled: bool = False
    """The controller said pass and code did not believe it."""
    spent: Spent = NOTHING_NOTED


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """`colony-verdict: S · none`: the check never answered; the report is kept."""

    session: str
    spent: Spent = NOTHING_NOTED


@dataclass(frozen=True, slots=True)
class Deployed:
    """`colony-deployed: S · sha256 H`"""

    session: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Handled:
    """`colony-keyword: EVENT · WORD`: the keyword in that comment has been answered."""

    event: int
    word: str


@dataclass(frozen=True, slots=True)
class Retry:
    """`colony-retry: 2026-01-31T18:19:00.000Z`: starts and attempts count anew from here."""

    at_ms: int


Marker = (
    LeaseLine
    | LeaseExpired
    | Parked
    | Run
    | Report
    | Verdict
    | NoVerdict
    | Deployed
    | Handled
    | Retry
)
