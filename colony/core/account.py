"""What an account of a coding agent allows, by how the sessions of this host fared with it.

A limit, a login that failed and a provider that is away hold the account, not the ticket. After the
time of a hold one session tries; the rest wait until it has been answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from colony.core.endings import Ending
from colony.core.lines import clip
from colony.core.markers import utc
from colony.core.quota import REACHED, Seen, percent_of
from colony.core.session import Facts, PartFacts
from colony.core.session.follows import AGAIN_MS, HOUR_MS, UNKNOWN_RESET_MS
from colony.core.ticket import Ref
from colony.core.turn import Reading

Kind = Literal["limit", "provider", "login", "model", "agent"]

HOLDS: Final[dict[Ending, Kind]] = {
    Ending.LIMIT: "limit",
    Ending.PROVIDER: "provider",
    Ending.LOGIN: "login",
    Ending.MODEL: "model",
}
"""Endings that hold an account; `near limit` does not: its reading says how near."""

PAUSES_MS: Final = {**AGAIN_MS, Ending.CRASHED: AGAIN_MS[Ending.PROVIDER]}

WORDS: Final[dict[Kind, str]] = {
    "limit": "usage limit reached",
    "provider": "the provider is away",
    "login": "the coding agent is not logged in",
    "model": "the model is not to be had",
    "agent": "the coding agent dies before it answers",
}
TRY_MS: Final = 2 * HOUR_MS
"""During a long hold one session tries now and then: access may be back before its time."""
SAID_MAX: Final = 120
"""Characters of what an agent said of why it died."""
EXTENDED_MS: Final = 60_000
"""A hold that grows by less is not told of again: sessions that ran beside it met the same."""


@dataclass(frozen=True, slots=True)
class Login:
    """The account that sessions would use now. Neither holds a secret."""

    name: str
    mark: str
    """Fingerprint of what the login is made of: it changes with a new login."""


@dataclass(frozen=True, slots=True)
class Used:
    """One part of a session, as far as its account is concerned."""

    session: str
    ref: Ref
    number: int
    """Of the part in its session."""
    born: tuple[str, int]
    """Boot and clock tick in which its process began; empty: not known."""
    agent: str
    model: str
    account: str
    """Empty: written down before accounts were."""
    mark: str
    started_ms: int
    ended_ms: int | None
    ended: Ending | None
    answered: bool
    """The model said something: the account was good when the part began."""
    until_ms: int | None
    """Until when the limit holds, as far as it was told."""
    readings: tuple[Reading, ...]
    cost_usd: float
    wordless: bool = False
    """Its process died before it was answered: what is wrong may be wrong for every ticket."""
    said: str = ""
    """Why it ended, in its agent's own words."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What keeps sessions from an account, or from an agent on any account, until one has been
    answered again."""

    kind: Kind
    until_ms: int
    try_ms: int
    """From then on one session may try: at the latest when the hold is over."""
    failed_ms: int
    """When the last try ended."""
    session: str
    ref: Ref
    """Whose session met it."""
    model: str = ""
    """The only model that is held; empty: all of them."""
    known: bool = True
    """It was told until when it holds, or that is no question of being told."""
    agent: str = ""
    """The only agent that is held, whether it needs an account or not; empty: the account."""
    said: str = ""
    """Why, in the agent's own words."""

    @property
    def what(self) -> tuple[str, str]:
        """What is held: an agent or the account, and which of its models."""
        return self.agent, self.model

    def covers(self, model: str) -> bool:
        return self.model in ("", model)

    @property
    def why(self) -> str:
        return WORDS[self.kind] + (f" ({self.model})" if self.model else "")


def used_of(facts: Facts) -> Iterator[Used]:
    """Every part of a session, oldest first."""
    for part in facts.parts:
        runner = facts.setup.runner(part.kind)
        yield Used(
            session=facts.session,
            ref=facts.ticket,
            number=part.number,
            born=(part.process.boot_id, part.process.start_ticks) if part.process else ("", 0),
            agent=runner.agent,
            model=runner.model,
            account=part.account,
            mark=part.login_mark,
            started_ms=part.started_ms,
            ended_ms=part.ended_ms,
            ended=part.ended,
            answered=has_answered(part),
            until_ms=part.limit_until_ms,
            readings=part.readings,
            cost_usd=part.cost_usd,
            wordless=part.wordless,
            said=part.said,
        )


def asks(facts: Facts) -> tuple[bool, int | None]:
    """Of a session that runs: whether its account has answered it, and since when it asks; None:
    it is only beginning to."""
    last = facts.parts[-1] if facts.parts else None
    if last is None or last.ended in HOLDS or last.wordless:
        # It has just been started, or taken up after its account, or its agent, failed it.
        return False, None
    return has_answered(last), last.started_ms if last.ended is None else None


def has_answered(part: PartFacts) -> bool:
    """A record that was written before answers were noted names the models that gave them."""
    return part.answered or bool(part.models)


def of_account(parts: Sequence[Used], account: str, agents: frozenset[str]) -> tuple[Used, ...]:
    """The parts that ran on this account; `agents`: those that need one."""
    return tuple(part for part in parts if part.agent in agents and part.account in ("", account))


def seen_in(parts: Sequence[Used]) -> Iterator[Seen]:
    """What sessions were told while they ran. That a limit is reached, of one that the limit
    ended, is left to the hold: it knows when to try, whatever the window's own end."""
    for part in parts:
        limited = part.ended is Ending.LIMIT
        told = tuple(
            each for each in part.readings if not (limited and (percent_of(each) or 0) >= REACHED)
        )
        if part.ended_ms is not None and told:
            yield Seen(told, part.ended_ms)


def holds_of(parts: Sequence[Used], login: Login, reached_ms: int = 0) -> tuple[Hold, ...]:
    """What holds the account of `parts`, which are all its own: at most one hold a kind, and a
    model; also one whose time is over, as long as nobody has been answered since.

    `reached_ms`: when a reading last said that a limit is reached, which spares a try.
    """
    found = []
    failed = {(kind, _only(each)) for each in parts if (kind := _kind(each)) and kind != "agent"}
    for kind, model in sorted(failed):
        mine = [each for each in parts if model in ("", each.model)]
        hold = hold_of(mine, kind, model, login, reached_ms)
        if hold is not None:
            found.append(hold)
    return tuple(found)


def _kind(part: Used) -> Kind | None:
    """By what it failed; None: not by its account, nor by its agent."""
    if part.ended is None or part.ended_ms is None:
        return None
    return "agent" if part.wordless else HOLDS.get(part.ended)


def _only(part: Used) -> str:
    return part.model if part.ended is Ending.MODEL else ""


def hold_of(
    parts: Sequence[Used], kind: Kind, model: str, login: Login, reached_ms: int
) -> Hold | None:
    """The hold of this kind on what `parts` ran on, one of which failed so; None: it has answered
    since."""
    failed = [each for each in parts if _kind(each) == kind]
    failed.sort(key=lambda each: (each.ended_ms or 0, each.session))
    last = failed[-1]
    if _proved(parts, last):
        return None
    failed_ms, until_ms = last.ended_ms or 0, _until(last, _row(parts, failed))
    if kind == "login" and last.mark != login.mark:
        until_ms = failed_ms
    known = kind != "limit" or last.until_ms is not None
    try_ms = min(until_ms, max(failed_ms, reached_ms) + TRY_MS)
    hold = Hold(kind, until_ms, try_ms, failed_ms, last.session, last.ref, model, known)
    return replace(hold, said=last.said) if kind == "agent" else hold


def _proved(parts: Sequence[Used], failed: Used) -> bool:
    """A part that began after the failure has been answered. One that ran beside it proves
    nothing: its question may have been answered before."""
    return any(
        each.answered and each.started_ms >= (failed.ended_ms or 0) and not _is_before(each, failed)
        for each in parts
    )


def _is_before(one: Used, other: Used) -> bool:
    """It is known to have begun before the other, whatever the wall clock says: that can have been
    set back in between."""
    if one.session == other.session:
        return one.number < other.number
    return bool(one.born[0]) and one.born[0] == other.born[0] and one.born[1] < other.born[1]


def _row(parts: Sequence[Used], failed: Sequence[Used]) -> int:
    """How many tries in a row failed so. Sessions that ran at the same time are one try."""
    last, count = failed[-1], 1
    for before in reversed(failed[:-1]):
        if last.answered:
            break
        if (before.ended_ms or 0) >= last.started_ms or _is_within(last, before):
            continue
        if last.wordless and before.session == last.session:
            # It was taken up at once.
            continue
        if any(each.answered and _between(each, before, last) for each in parts):
            break
        last, count = before, count + 1
    return count


def _is_within(one: Used, before: Used) -> bool:
    """It met the limit again before the time that had been told was over, which somebody who starts
    by hand may do: that says nothing of what comes after that time."""
    told_ms = before.until_ms if before.ended is Ending.LIMIT else None
    return told_ms is not None and one.started_ms < told_ms


def _between(one: Used, before: Used, last: Used) -> bool:
    late = (before.ended_ms or 0) <= one.started_ms and not _is_before(one, before)
    return late and one.started_ms < last.started_ms


def _until(last: Used, row: int) -> int:
    assert last.ended is not None
    ended_ms, pauses = last.ended_ms or 0, PAUSES_MS[last.ended]
    least_ms = ended_ms + pauses[min(row, len(pauses)) - 1]
    if last.ended is not Ending.LIMIT:
        return least_ms
    return max(least_ms, last.until_ms or ended_ms + UNKNOWN_RESET_MS)


# --- what is said ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of holds so far: what is held -> the hold."""

    holds: Mapping[tuple[str, str], Hold] = field(default_factory=dict)


def told(
    before: Told, holds: Sequence[Hold], now_ms: int, remedy: str = "", *, reads: bool = False
) -> tuple[Told, tuple[str, ...]]:
    """What is to be said now: that a hold began, grew, or is over, each once.

    `remedy`: what a person does about a login. `reads`: the quota is read before anything starts.
    """
    now, said = _in_force(holds, now_ms), []
    known = dict(before.holds)
    for what, hold in now.items():
        old = known.get(what)
        if old is None:
            said.append(_begins(hold, remedy))
        elif hold.until_ms - old.until_ms >= EXTENDED_MS:
            said.append(_extends(hold))
        elif hold.kind == old.kind and hold.until_ms > old.until_ms:
            continue
        known[what] = hold
    for what in sorted(known.keys() - now.keys()):
        tried = all(each.what != what for each in holds)
        said.append(_ends(known.pop(what), tried=tried, reads=reads))
    return Told(known), tuple(said)


def told_of_login(before: str, now: str) -> str:
    """What is to be said of a login that is missing, or is there again; empty: nothing new.

    `before`, `now`: why no agent can log in.
    """
    if before == now:
        return ""
    if not now:
        return "resumed — a login is there"
    return f"{WORDS['login']} — nothing is started until it is: {now}"


def in_force(holds: Sequence[Hold], now_ms: int) -> Hold | None:
    """What holds the whole account or an agent now, and the longest of it."""
    found = [each for each in _in_force(holds, now_ms).values() if not each.model]
    return max(found, key=lambda one: one.until_ms, default=None)


def _in_force(holds: Sequence[Hold], now_ms: int) -> dict[tuple[str, str], Hold]:
    """By what is held: the hold that ends last."""
    now = sorted((each for each in holds if now_ms < each.until_ms), key=lambda one: one.until_ms)
    return {each.what: each for each in now}


def _begins(hold: Hold, remedy: str) -> str:
    """`usage limit reached — starts paused until … · shop#1 s-… hit it`"""
    until = f"starts paused until {utc(hold.until_ms)}"
    if not hold.known:
        until += " (no reset time known: then one tries)"
    if hold.kind == "agent":
        remedy = f"how: colony sessions {hold.session}"
    what = f" · {remedy}" if remedy and hold.kind in ("login", "agent") else ""
    why = f"{hold.why} ({clip(hold.said, SAID_MAX)})" if hold.said else hold.why
    return f"{why} — {until} · {hold.ref} {hold.session} hit it{what}"


def _extends(hold: Hold) -> str:
    until = utc(hold.until_ms)
    return f"the pause is extended until {until} · {hold.why} · {hold.ref} {hold.session} hit it"


def _ends(hold: Hold, *, tried: bool, reads: bool) -> str:
    until = f"the pause until {utc(hold.until_ms)} is over"
    if tried:
        return f"resumed — {until}: a session has been answered"
    first = "the quota is read first, then " if reads else ""
    return f"resumed — {until}; {first}one session goes first, then the others"
