"""The account of this host, as the loop looks at it: what holds it, how full it is, what is said.

It decides nothing: `core.account` and `core.quota` do. It holds no truth: the run folders do. In
memory it keeps the last answer of the agent's quota call, and what was said already.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.coding.protocol import CodingAgent
from colony.core.account import (
    Login,
    Told,
    Used,
    holds_of,
    of_account,
    seen_in,
    told,
    told_of_login,
)
from colony.core.allowance import Quota, Seat
from colony.core.allowlist import allowed
from colony.core.deaths import deaths_of, resting_of
from colony.core.lines import Line, clip
from colony.core.quota import Gauge, Seen, Source, Thresholds, levels_of
from colony.core.spending import spent_today
from colony.core.turn import QuotaAnswer
from colony.errors import ColonyError
from colony.flow.recent import Recent
from colony.host.call import CallResult
from colony.host.clock import Clock
from colony.host.errand import Errand

PROBE_S: Final = 30.0
"""Longest time of a quota call."""
WHY_MAX: Final = 160
"""Characters of why the quota could not be read."""


@dataclass(frozen=True, slots=True)
class AccountSettings:
    """Whose account is looked at, and what it may be used for."""

    agent: CodingAgent | None
    """Tells of the account; None: no agent here needs one."""
    agents: frozenset[str]
    """The words of those that need that account."""
    seats: Mapping[str, Seat]
    """Project -> what a new session of it runs on."""
    environ: Mapping[str, str]
    """Colony's own: the agent picks from it what is its own."""
    thresholds: Thresholds
    max_cost_usd: float | None
    """Of a day; None: no limit."""

    @property
    def remedy(self) -> str:
        """What a person does about a login that is refused."""
        if self.agent is None:
            return ""
        return (
            f"log in anew ({self.agent.login(self.environ)} of {self.agent.name}: its own program,"
            " /login), or begin run anew with another key or token in the environment"
        )


NO_ACCOUNT: Final = AccountSettings(None, frozenset(), {}, {}, Thresholds(), None)
"""No agent needs one, and no money is counted."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The last quota call: what it told, or why nothing."""

    seen: Seen | None = None
    problem: str = ""


def quota_of(
    account: AccountSettings, parts: Sequence[Used], now_ms: int, asked: Asked | None = None
) -> Quota:
    """What the account allows; `asked` None: the agent is not asked, so sessions alone tell."""
    spent = spent_today(parts, account.max_cost_usd, now_ms)
    agent, environ = account.agent, account.environ
    dead = deaths_of(parts)
    free = Quota(account.agents, account.seats, dead, spent=spent, resting=resting_of(parts))
    if agent is None:
        return free
    login = Login(agent.account(environ), agent.login_mark(environ))
    mine = of_account(parts, login.name, account.agents)
    seen = [*seen_in(mine)]
    if asked is not None and asked.seen is not None:
        seen.append(asked.seen)
    levels = levels_of(seen, now_ms)
    source: Source = "events" if asked is None else "asked"
    gauge = Gauge(source, levels, account.thresholds, asked.problem if asked else "")
    holds = holds_of(mine, login, levels.reached_ms)
    stale = asked is not None and not levels.fresh(now_ms)
    return replace(free, holds=(*holds, *dead), gauge=gauge, stale=stale)


class Meter:
    """For one loop, in one thread."""

    def __init__(self, runs: Path, clock: Clock) -> None:
        self._recent = Recent(runs)
        self._clock = clock
        self._asked = Asked()
        self._told = Told()
        self._lacks = ""
        """Why nobody could log in, as it was said last."""
        self._agent: CodingAgent | None = None
        self._errand: Errand | None = None
        self._settled = False
        """The quota was read in this iteration, with or without an answer."""

    def look(self, account: AccountSettings) -> Quota:
        """`ColonyError`: the run folders cannot be listed."""
        now_ms = self._clock.wall_ms()
        agent = account.agent
        asks = agent is not None and agent.quota_call(account.environ) is not None
        parts = self._recent.parts(now_ms)
        quota = quota_of(account, parts, now_ms, self._asked if asks else None)
        if agent is not None:
            quota = quota.without_login(agent.login_problem(account.environ) or "")
        return quota.read() if self._settled else quota

    def say(self, account: AccountSettings, quota: Quota) -> Iterator[Line]:
        """What holds the account is said once when it begins and once when it is over."""
        now_ms = self._clock.wall_ms()
        reads = quota.gauge.source == "asked"
        lacks, self._lacks = self._lacks, quota.lacks
        if text := told_of_login(lacks, quota.lacks):
            yield Line("limit", text, ms=now_ms)
        self._told, said = told(self._told, quota.holds, now_ms, account.remedy, reads=reads)
        for text in said:
            yield Line("limit", text, ms=now_ms)

    def say_last(self, account: AccountSettings) -> Iterator[Line]:
        """What the last sessions met, for a loop that looks no more."""
        with contextlib.suppress(ColonyError):
            yield from self.say(account, self.look(account))

    # --- the quota call ----------------------------------------------------------------------

    @property
    def reading(self) -> bool:
        """It runs, and `collect` is to be asked for what it told."""
        return self._errand is not None

    @property
    def pidfds(self) -> tuple[int, ...]:
        return (self._errand.pidfd,) if self._errand is not None else ()

    def due_in(self, boot_s: float) -> float | None:
        """Seconds until its time is over; None: none runs."""
        return None if self._errand is None else max(0.0, self._errand.due_s - boot_s)

    def begin(self, account: AccountSettings) -> None:
        """Ask the agent, unless it is being asked; it is not waited for."""
        agent, environ = account.agent, account.environ
        call = agent.quota_call(environ) if agent is not None else None
        if self._errand is not None or agent is None or call is None:
            return
        try:
            env = {**allowed(environ, ()), **call.env}
            self._errand = Errand(call.argv, env, self._clock, PROBE_S)
            self._agent = agent
        except ColonyError as error:
            self._answered(QuotaAnswer(problem=error.line))

    def collect(self) -> Iterator[Line]:
        """What it told, once it has ended or its time is over."""
        result = self._errand.result() if self._errand is not None else None
        if result is None or self._agent is None:
            return
        self._errand = None
        answer = self._agent.read_quota(result.stdout.decode("utf-8", "replace"))
        self._answered(replace(answer, problem=_why(answer, result)))
        if answer.cost_usd > 0:
            text = f"${answer.cost_usd:.4f} — a look at the quota should cost nothing"
            facts = {"costUsd": answer.cost_usd}
            yield Line("probe.cost", text, ms=self._clock.wall_ms(), facts=facts)

    def over(self) -> None:
        """The iteration is over: the next one asks anew where that is needed."""
        self._settled = False

    def drop(self) -> None:
        """Nobody waits for the answer any more."""
        if self._errand is not None:
            self._errand.drop()
            self._errand = None

    def _answered(self, answer: QuotaAnswer) -> None:
        self._settled = True
        problem = clip(answer.problem, WHY_MAX)
        seen = Seen(answer.readings, self._clock.wall_ms()) if answer.readings else self._asked.seen
        self._asked = Asked(seen, problem)


def _why(answer: QuotaAnswer, result: CallResult) -> str:
    """Why there is no reading: the program's own words come last."""
    if answer.readings:
        return ""
    if result.timed_out:
        return f"the quota call took more than {PROBE_S:.0f} s"
    words = clip(result.stderr.decode("utf-8", "replace"), WHY_MAX)
    return f"{answer.problem}: {words}" if words else answer.problem
