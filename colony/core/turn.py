"""What one run of a coding agent left behind, whoever the agent was.

A reader in `coding/` folds the agent's stream into one `Turn`. Costs are US dollars, times
integer milliseconds UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from colony.core.lines import Json
from colony.core.money import nanos_of, usd_of

COUNT_MAX: Final = 10**15 - 1
"""No count of a run is larger: every reader of JSON holds it exactly, and so does a sum's."""
COST_MAX_USD: Final = 1_000_000.0
"""A run that says it cost more has not said what it cost."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of this run alone."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            added(self.input_tokens, other.input_tokens),
            added(self.output_tokens, other.output_tokens),
            added(self.cache_read_tokens, other.cache_read_tokens),
            added(self.cache_write_tokens, other.cache_write_tokens),
        )


def added(count: int, more: int) -> int:
    """The sum of two counts, at most `COUNT_MAX`."""
    return min(count + more, COUNT_MAX)


@dataclass(frozen=True, slots=True)
class Limit:
    """The account's usage limit is reached. `until_ms` None: no reset time is known."""

    text: str
    until_ms: int | None = None
    window: str = ""
    """The agent's own word for the window (`five_hour`, `seven_day`, …)."""


WindowKind = Literal["session", "week", ""]

WINDOW_KINDS: Final[dict[str, WindowKind]] = {
    "five_hour": "session",
    "session": "session",
    "seven_day": "week",
    "weekly_all": "week",
}
"""What the agents' own words mean: the hours of a session, or the week, each over all models. Any
other window (one model's week, paid extra usage) is neither."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How full one window of the account's quota is, as a run or a quota call told it."""

    window: str
    """The agent's own word (`five_hour`, `seven_day`, `session`, `weekly_scoped`, …)."""
    used: float | None = None
    """Share from 0 to 1; None where only the verdict was given."""
    resets_ms: int | None = None
    status: str = ""
    """The agent's own word: `allowed`, `allowed_warning`, `rejected`; `normal`, `critical`."""

    @property
    def kind(self) -> WindowKind:
        """Which of the two windows that hold an account this is; empty: neither."""
        return WINDOW_KINDS.get(self.window, "")


def share_of(value: float | None, whole: float) -> float | None:
    """`value` as a share of `whole`, from 0 to 1; None for what is none (NaN, out of range)."""
    return value / whole if value is not None and 0 <= value <= whole else None


@dataclass(frozen=True, slots=True)
class QuotaAnswer:
    """What a quota call told."""

    readings: tuple[Reading, ...] = ()
    """As the agent lists them; the windows of single models may share a word."""
    cost_usd: float = 0.0
    """What the call itself cost: nothing, as long as no model was asked."""
    problem: str = ""
    """Why there is no reading, in one line; empty where there is one."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A tool call that the agent's permissions refused."""

    tool: str
    detail: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of an agent, as its stream tells it."""

    agent_session: str = ""
    finished: bool = False
    """A result event was seen."""
    is_error: bool = False
    subtype: str = ""
    terminal_reason: str = ""
    stop_reason: str = ""
    api_status: int | None = None
    api_error: str = ""
    """The agent's own word for what went wrong with the provider (`usage_limit_reached`, …)."""
    text: str = ""
    """The agent's own closing words or error text; never a tool's output."""
    structured: Json = None
    has_structured: bool = False
    turns: int = 0
    total_cost_usd: float | None = None
    """As the agent counts: over the whole agent session, resumed runs included. None: not told."""
    usage: Usage = Usage()
    """Of a run without a result: the sum of what was streamed, which is less than what was used."""
    models: tuple[str, ...] = ()
    permission_mode: str = ""
    """The mode in force, as the agent reports it."""
    denials: tuple[Denial, ...] = ()
    limit: Limit | None = None
    near_limit: bool = False
    """The account was close to its limit when the run ended."""
    quota: tuple[Reading, ...] = ()
    """The newest reading of each window."""
    version: str = ""
    last_tool: str = ""
    events: int = 0
    """Readable events in the stream."""
    unreadable: int = 0
    """Lines that were no JSON object (a line cut by a kill is one)."""


def part_cost(turn: Turn, counted_usd: float) -> float | None:
    """US dollars of this run: its total less what was counted of its agent session before.

    None where the run told no total. Never negative: a killed run is missing from later totals.
    """
    if turn.total_cost_usd is None:
        return None
    return usd_of(max(0, nanos_of(turn.total_cost_usd) - nanos_of(counted_usd)))


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened in a run, for transcripts and live lines."""

    kind: Literal["text", "call", "result"]
    text: str
    tool: str = ""
    by_program: bool = False
    """The agent's program said it, not the model: an error in the form of an answer."""
