"""Until when something given out is good, as people write it: `30d`, `12h`, `8w`, `2027-01-31`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from typing import Final

from colony.core.spans import DAY_MS, HOUR_MS, WEEK_MS

USAGE: Final = "write 12h, 30d, 8w, or the last day as 2027-01-31"

_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})([hdw])", re.ASCII)
_DAY: Final = re.compile(r"(2[0-9]{3})-([0-9]{2})-([0-9]{2})", re.ASCII)
_UNITS: Final = {"h": HOUR_MS, "d": DAY_MS, "w": WEEK_MS}


def expiry_ms(text: str, now_ms: int, zone: tzinfo) -> int | None:
    """The end in milliseconds UTC; of a day its last one, in `zone`. None: it is no such text."""
    span = _SPAN.fullmatch(text)
    if span:
        return now_ms + int(span[1]) * _UNITS[span[2]]
    day = _DAY.fullmatch(text)
    if day is None:
        return None
    try:
        begins = datetime(int(day[1]), int(day[2]), int(day[3]), tzinfo=zone)
    except ValueError:
        return None
    # The clock of the zone, not 24 hours: a day on which it is changed is longer or shorter.
    return int((begins + timedelta(days=1)).timestamp() * 1000) - 1
