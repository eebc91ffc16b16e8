"""When sessions are started: the setting, on the clock of the setting's time zone."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from colony.config import Settings
from colony.core.opening import ALWAYS, Opening


def opening_of(settings: Settings) -> Opening:
    """The zone is read only where there are hours."""
    hours = settings.run.hours
    return ALWAYS if hours is None else Opening(hours, ZoneInfo(settings.tracker.tz))
