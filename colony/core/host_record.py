"""A host as its loop tells the tracker of it: how much runs, what holds it, how full it is."""

from __future__ import annotations

from colony.core.admission import Bound, Disk, Memory, Reading, Unknown
from colony.core.iteration import Iteration, line
from colony.core.lines import Json
from colony.core.records import HostRecord


def host_record(name: str, done: Iteration, reading: Reading | None) -> HostRecord:
    """After an iteration. `reading`: None where nothing is read here. Sizes are bytes."""
    return HostRecord(
        name=name,
        slots=done.parallel,
        running=done.running,
        quota=done.quota.gauge.facts or None,
        memory=None if reading is None else _memory(reading.memory),
        disk=None if reading is None else [_disk(each) for each in reading.disks],
        iteration={"number": done.number, "ms": done.at_ms, "text": line(done).text},
    )


def _memory(found: Memory | Unknown) -> Json:
    if isinstance(found, Unknown):
        return {"unknown": found.why}
    return [_bound(each) for each in (found.machine, *found.groups)]


def _bound(found: Bound) -> Json:
    return {"by": found.by, "limit": found.limit, "held": found.held}


def _disk(found: Disk | Unknown) -> Json:
    if isinstance(found, Unknown):
        return {"unknown": found.why}
    return {"holds": found.holds, "free": found.free, "total": found.total}
