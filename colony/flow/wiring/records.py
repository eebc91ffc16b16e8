"""Wiring for commands that look at sessions: the tracker's reads, records among them."""

from __future__ import annotations

from colony.config import Settings
from colony.flow.wiring.readers import need_embedded
from colony.host.clock import SystemClock
from colony.tracker.places import TIMEOUT_S, engine_at
from colony.tracker.records.reader import RecordReader
from colony.tracker.records.reads import RecordReads


def record_reader(settings: Settings) -> RecordReads:
    """All reads of an embedded tracker. A database that is not there is Unreachable."""
    need_embedded(settings)
    engine = engine_at(settings.tracker.url, create=False, timeout_s=TIMEOUT_S)
    return RecordReader(engine, SystemClock().wall_ms)
