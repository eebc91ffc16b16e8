"""Machine lines: the one place that writes and reads what Colony notes in a ticket's history.

A machine line is the last line of a text, begins with `colony-…:` and has its parts divided by
` · `. Tickets written years ago must still parse: words never change, new parts come last.
"""

from __future__ import annotations

from colony.core.markers.foreign import defuse, forged, marker_of
from colony.core.markers.kinds import (
    Deployed,
    Handled,
    LeaseExpired,
    LeaseLine,
    LeaseWord,
    Marker,
    NoVerdict,
    Parked,
    Phase,
    Report,
    Retry,
    Run,
    Spent,
    Verdict,
)
from colony.core.markers.wire import format, parse
from colony.core.markers.words import SESSION_PATTERN, is_session_id, utc

__all__ = [
    "SESSION_PATTERN",
    "Deployed",
    "Handled",
    "LeaseExpired",
    "LeaseLine",
    "LeaseWord",
    "Marker",
    "NoVerdict",
    "Parked",
    "Phase",
    "Report",
    "Retry",
    "Run",
    "Spent",
    "Verdict",
    "defuse",
    "forged",
    "format",
    "is_session_id",
    "marker_of",
    "parse",
    "utc",
]
