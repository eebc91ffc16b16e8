"""How full the windows of an account's quota are, and what that lets begin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from colony.core.lines import Json
from colony.core.markers import utc
from colony.core.turn import Reading

Source = Literal["none", "events", "asked"]
"""Where readings come from. *none*: the agent needs no account. *events*: only from what sessions
are told, a login from the environment has no rows. *asked*: the agent can be asked, too."""

REACHED: Final = 100
OFF: Final = 100
"""A threshold of so many percent is none; what is reached holds all the same."""
FRESH_MS: Final = 60_000
"""A start goes by a reading that is no older."""
UNDATED_MS: Final = 3_600_000
"""A reading that does not say when its window begins anew counts so long."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Percent."""

    reserve: int = 70
    """Of the window of a few hours: from there on nothing begins."""
    week: int = 84
    """Of the week: above it nothing begins."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Readings that were taken at one moment."""

    readings: tuple[Reading, ...]
    at_ms: int


@dataclass(frozen=True, slots=True)
class Level:
    percent: float
    resets_ms: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Levels:
    """The two windows that hold an account; None: nothing is known."""

    session: Level | None = None
    week: Level | None = None

    @property
    def reached_ms(self) -> int:
        """When a window was last seen to be full; 0: none is."""
        full = [each.at_ms for each in (self.session, self.week) if each and is_full(each)]
        return max(full, default=0)

    def fresh(self, now_ms: int) -> bool:
        """Both were read a moment ago."""
        return all(
            each is not None and now_ms - each.at_ms <= FRESH_MS
            for each in (self.session, self.week)
        )


def is_full(level: Level) -> bool:
    return level.percent >= REACHED


def levels_of(seen: Iterable[Seen], now_ms: int) -> Levels:
    """The newest reading of each kind counts, whoever told it, until the window begins anew."""
    newest: dict[str, Level] = {}
    for each in sorted(seen, key=lambda one: one.at_ms):
        for reading in each.readings:
            percent = percent_of(reading)
            if percent is not None and reading.kind:
                newest[reading.kind] = Level(percent, reading.resets_ms, each.at_ms)
    valid = {kind: level for kind, level in newest.items() if _holds(level, now_ms)}
    return Levels(valid.get("session"), valid.get("week"))


def percent_of(reading: Reading) -> float | None:
    """How full it says the window is; None: it does not say."""
    if reading.used is not None:
        # Shares are told in hundredths: 0.58 is to be 58, not a hair less.
        return round(reading.used * 100, 6)
    return REACHED if reading.status == "rejected" else None


def _holds(level: Level, now_ms: int) -> bool:
    until_ms = level.resets_ms if level.resets_ms is not None else level.at_ms + UNDATED_MS
    return now_ms < until_ms


@dataclass(frozen=True, slots=True)
class Gauge:
    """What is known of the quota, held against the thresholds."""

    source: Source
    levels: Levels = Levels()
    thresholds: Thresholds = Thresholds()
    problem: str = ""
    """Why the agent could not be asked, the last time."""

    @property
    def against(self) -> str:
        """Why nothing begins; empty: nothing speaks against it.

        What is not known holds only where it could be: a threshold that is off asks for nothing.
        """
        session, week = self.levels.session, self.levels.week
        reserve, most = self.thresholds.reserve, self.thresholds.week
        if session is not None and is_full(session):
            return "the 5 h limit is reached (100%)" + _until(session)
        if week is not None and is_full(week):
            return "the week's limit is reached (100%)" + _until(week)
        if session is not None and reserve < OFF and session.percent >= reserve:
            return f"5 h {show(session)} ≥ reserve {reserve}%" + _until(session)
        if week is not None and most < OFF and week.percent > most:
            return f"week {show(week)} > week limit {most}%" + _until(week)
        if self.source == "asked" and reserve < OFF and session is None:
            return "the quota is not known" + (f": {self.problem}" if self.problem else "")
        if self.source == "asked" and most < OFF and week is None:
            return "week UNKNOWN" + (f": {self.problem}" if self.problem else "")
        return ""

    @property
    def text(self) -> str:
        """`quota 5% of 5 h (resets …), week 41% < reserve 70%`; empty where none is needed."""
        session, week = self.levels.session, self.levels.week
        if self.source == "none":
            return ""
        if session is None and week is None:
            if self.source == "events":
                return "quota: not known for this login"
            return f"quota: {self.against or 'not known'}" + self._stops
        shown = "quota " + (f"{show(session)} of 5 h" if session else "of 5 h not known")
        shown += _resets(session)
        if week is not None:
            shown += f", week {show(week)}" + (_resets(week) if is_full(week) else "")
        if self.against:
            return f"{shown} → {self.against}{self._stops}"
        return shown + self._under

    @property
    def _stops(self) -> str:
        return " → no start" if self.against else ""

    @property
    def _under(self) -> str:
        reserve, most = self.thresholds.reserve, self.thresholds.week
        said = f" < reserve {reserve}%" if reserve < OFF else ", 5 h reserve off (100%)"
        return said + ("" if most < OFF else ", week limit off (100%)")

    @property
    def facts(self) -> dict[str, Json]:
        """The same for programs; nothing where none is needed."""
        if self.source == "none":
            return {}
        told: dict[str, Json] = {"source": self.source, "against": self.against or None}
        for name, level in (("session", self.levels.session), ("week", self.levels.week)):
            told[name] = None if level is None else level.percent
            told[f"{name}ResetsMs"] = None if level is None else level.resets_ms
        return told


def show(level: Level) -> str:
    """Whole percents, never rounded up: 100% is said of what is reached."""
    return f"{int(level.percent)}%"


def _until(level: Level) -> str:
    return "" if level.resets_ms is None else f" until {utc(level.resets_ms)}"


def _resets(level: Level | None) -> str:
    known = level is not None and level.resets_ms is not None
    return f" (resets {utc(level.resets_ms)})" if known and level and level.resets_ms else ""
