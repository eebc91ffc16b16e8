"""Run a command in a session's box that is no coding agent's: what a tree needs before and after.

Whatever is in a tree may have been put there by an agent, so nothing of it runs outside of the box:
neither a command of `setup` nor git itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from colony.coding.protocol import PartFolders, Places
from colony.core.endings import Exit
from colony.core.lines import clip
from colony.flow import guarding
from colony.flow.part import SLICE_S, STDERR, STOP_GRACE_S, Place
from colony.flow.walls import EMPTY, NOTHING, Room, Walls, wanted_of
from colony.host.box import Containment
from colony.host.cgroup import NO_LIMITS, Limits
from colony.host.launch import Command
from colony.host.proof import Proof

FOLDER: Final = "inside"
"""Folder of the run folder: in it lies what each of these commands printed."""
STDOUT: Final = "stdout"
SCRATCH: Final = "scratch"
SAID_MAX: Final = 4000


@dataclass(frozen=True, slots=True)
class Order:
    """A command for a session's box."""

    name: str
    """Of its folder among those of the session's commands."""
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout_s: float
    walls: Walls | None
    limits: Limits = NO_LIMITS
    """What its box may come to, as a part's."""


@dataclass(frozen=True, slots=True)
class Done:
    """How it ended. `cause`: why it was stopped; empty: it ended by itself."""

    exit: Exit
    cause: Literal["", "time", "stop"]
    said: str
    """The last line of what it printed as errors."""
    tmp: Path
    """What it wrote into its scratch space, until the `with` block ends."""

    @property
    def problem(self) -> str:
        """Why it failed; empty: it did not."""
        if self.cause:
            return "took too long" if self.cause == "time" else "was stopped"
        if self.exit.code == 0:
            return ""
        return self.said or f"ended with {self.exit.code or self.exit.signal}"


@contextlib.contextmanager
def inside(place: Place, order: Order, stops: Callable[[], bool]) -> Iterator[Done]:
    """From the main thread. Nothing of it runs any more when the block begins.

    `stops` is asked once a second. `Refused` (`NoBox`): it could not be run.
    """
    at = f"{FOLDER}/{order.name}"
    place.folder.remove_tree(at)
    outputs = place.folder.folder(at)
    tmp = place.folder.folder(f"{at}/{SCRATCH}")
    env = {**order.env, "COLONY_SESSION": place.folder.session, "TMPDIR": str(tmp)}
    err = outputs / STDERR
    command = Command(order.argv, env, order.cwd, NOTHING, outputs / STDOUT, err)
    place.boxes.sweep(place.folder.session, place.clock)
    try:
        box = _sealed(place, order, command, at)
        exit_, cause = _run(place, order, command, box, stops)
        place.boxes.sweep(place.folder.session, place.clock)
        lines = place.folder.tail(f"{at}/{STDERR}", SAID_MAX).decode("utf-8", "replace").split("\n")
        said = next((each.strip() for each in reversed(lines) if each.strip()), "")
        yield Done(exit_, cause, clip(said, 300), tmp)
    finally:
        if order.walls is not None:
            guarding.undone(place.boxes, place.folder, at)
        for name in (SCRATCH, "home", "agent"):
            place.folder.remove_tree(f"{at}/{name}")


def _sealed(place: Place, order: Order, command: Command, at: str) -> Containment:
    if order.walls is None:
        return place.containment
    place.folder.write(EMPTY, b"")
    own = PartFolders(place.folder.folder(f"{at}/agent"), Path(command.env["TMPDIR"]))
    home = place.folder.folder(f"{at}/home")
    wanted = wanted_of(order.walls, Room(order.cwd, own, home, place.folder.path / EMPTY), Places())
    guarding.note(place.boxes, place.folder, at, wanted.guarded)
    proof = Proof(program=order.argv[0], secrets=order.walls.secrets)
    return place.boxes.seal(place.containment, wanted, command, proof, place.clock)


def _run(
    place: Place, order: Order, command: Command, box: Containment, stops: Callable[[], bool]
) -> tuple[Exit, Literal["", "time", "stop"]]:
    deadline_s = place.clock.boot_s() + order.timeout_s
    with place.boxes.spawn(command, box, order.limits) as running:
        running.go()
        while True:
            left_s = deadline_s - place.clock.boot_s()
            exit_ = running.wait(min(SLICE_S, max(0.0, left_s)), place.signals.fd)
            if exit_ is not None:
                return exit_, ""
            place.signals.drain()
            if stops():
                return running.stop(STOP_GRACE_S), "stop"
            if place.clock.boot_s() >= deadline_s:
                return running.stop(STOP_GRACE_S), "time"
