"""What sessions are given of the machine they run on: clocks, chance, processes, threads, room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from colony.host import boxes, gauge, threads
from colony.host.boxes import Boxes
from colony.host.chance import Chance, SystemChance
from colony.host.clock import Clock, SystemClock
from colony.host.gauge import Gauge
from colony.host.threads import Threads
from colony.host.trees import Trees


@dataclass(frozen=True, slots=True)
class Machine:
    clock: Clock = field(default_factory=SystemClock)
    chance: Chance = field(default_factory=SystemChance)
    boxes: Boxes = boxes.SYSTEM
    threads: Threads = threads.SYSTEM
    gauge: Gauge = gauge.SYSTEM
    trees: Callable[[Path, Clock, str], Trees] = Trees
    """Makes, of a folder and of where git is found, the trees that lie there."""
