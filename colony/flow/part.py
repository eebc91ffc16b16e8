"""Run one part: one coding agent in its containment, from the gate to an empty box."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.coding.protocol import CodingAgent, PartFolders, PartOrder
from colony.core.allowlist import masked
from colony.core.endings import NOTHING_MORE, Cause, Ending, Exit, Known, ending_of, last_words
from colony.core.session import Ended, PartFacts, ProcessFacts, Runner
from colony.core.strict_json import dump_json
from colony.core.turn import Turn
from colony.errors import ColonyError, Refused
from colony.flow import guarding
from colony.flow.walls import EMPTY, Room, Walls, proof_of, wanted_of
from colony.host import boxes, threads
from colony.host.box import Containment, NoBox
from colony.host.boxes import Box, Boxes
from colony.host.cgroup import NO_LIMITS, Limits
from colony.host.clock import Clock
from colony.host.journal import RunFolder
from colony.host.launch import Command
from colony.host.listeners import Listener
from colony.host.signals import StopSignals
from colony.host.streams import STREAM, size_of, stream_lines
from colony.host.sweep import Swept
from colony.host.threads import Threads

SLICE_S: Final = 1.0
"""Longest wait between two looks at the deadline and the lease."""
STOP_GRACE_S: Final = 2.0
STDERR_SHOWN: Final = 4000

STDERR: Final = "stderr"
ANSWER: Final = "answer.json"
HOME: Final = "home"
"""Folder of the run folder: in it lies what each part has as its user's home."""


@dataclass(frozen=True, slots=True)
class PartRun:
    """What one part is run with."""

    agent: CodingAgent
    runner: Runner
    order: PartOrder
    prompt: str
    """Name of the prompt's file in the run folder."""
    env: Mapping[str, str]
    """What the part sees, but for the agent's own variables."""
    secrets: Mapping[str, str]
    """Test credentials in `env`: masked in what is kept of the answer."""
    cwd: Path
    ports: tuple[int, int]
    tmp: str
    """Its scratch space in the run folder: one path for all runs of an agent session, since what
    the agent tells the model of it must not change."""
    stall_s: int = 0
    """Without a word for so long it is stopped; 0: never."""
    refused_before: str = ""
    """`refusal_of` the run that this one goes on from."""
    walls: Walls | None = None
    """What its box shows and hides; None: the containment is used as it stands."""
    reads: tuple[Path, ...] = ()
    """Run folders that it may read in its box."""
    deploy: bool = False
    """It may reach the live site's folder, and whom the user's keys open."""
    limits: Limits = NO_LIMITS
    """What its box may come to."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where and by what means parts run."""

    folder: RunFolder
    containment: Containment
    clock: Clock
    signals: StopSignals
    environ: Mapping[str, str]
    """Colony's own environment: the agent picks from it what is its own."""
    boxes: Boxes = boxes.SYSTEM
    threads: Threads = threads.SYSTEM


@dataclass(frozen=True, slots=True)
class Watch:
    """What the session's owner does while a part runs."""

    spawned: Callable[[ProcessFacts], None]
    """Called before the agent runs: write the process down."""
    look: Callable[[], Cause | None]
    """Called at least once a second: why the part must end now, if it must."""


def run_part(place: Place, part: PartFacts, run: PartRun, watch: Watch) -> Ended:
    """The whole part. Returns when nothing of it is left running."""
    try:
        made = _made(place, part, run)
        command = _command(place, run, made)
    except Refused as error:
        # An earlier part put something else in their place.
        told = (f"cannot use its folders: {error.line}",)
        now_ms = place.clock.wall_ms()
        return Ended(Turn(), Exit(), Ending.CRASHED, None, now_ms, cleanup=told, said=told[0])
    begun = _Begun(place.clock.boot_s(), run, made.stream)
    left = place.boxes.sweep(place.folder.session, place.clock)
    no_box: tuple[str, ...] = ()
    try:
        box = _sealed(place, part, run, made, command)
        with place.boxes.spawn(command, box, run.limits) as running:
            agent = running.agent
            watch.spawned(ProcessFacts(agent.pid, agent.start_ticks, agent.boot_id))
            running.go()
            exit_, cause = _watched(place, running, begun, watch)
            known = Known(out_of_memory=running.out_of_memory, refused_before=run.refused_before)
            held = running.peak_bytes, running.counted_by
    except NoBox as error:
        no_box = (f"no box: {error.line}",)
    finally:
        cleanup = (*map(_swept, left), *_clean_up(place, begun), *_without_own(place, part, run))
    if no_box:
        now_ms = place.clock.wall_ms()
        cleanup = (*no_box, *cleanup)
        return Ended(Turn(), Exit(), Ending.NO_BOX, None, now_ms, cleanup=cleanup, said=no_box[0])
    ended = read_part(place, part, run, (exit_, cause, known), cleanup)
    return replace(ended, peak_bytes=held[0], counted_by=held[1])


def settle_part(place: Place, part: PartFacts, run: PartRun) -> Ended:
    """As `run_part`, for a part that another process began and did not see to its end.

    Listeners are left alone: since then anybody may have begun to listen on these ports.
    """
    cleanup = (*_sweep(place), *_without_own(place, part, run))
    known = replace(NOTHING_MORE, refused_before=run.refused_before)
    return read_part(place, part, run, (Exit(), None, known), cleanup)


@dataclass(frozen=True, slots=True)
class _Made:
    """What a part has of its own in the run folder."""

    stream: Path
    own: PartFolders
    home: Path


def _made(place: Place, part: PartFacts, run: PartRun) -> _Made:
    folder = place.folder
    stream = folder.folder(part.folder) / STREAM
    own = PartFolders(folder.folder("agent"), folder.folder(run.tmp))
    return _Made(stream, own, folder.folder(f"{HOME}/{part.number}"))


def _command(place: Place, run: PartRun, made: _Made) -> Command:
    call = run.agent.invocation(run.order, made.own, place.environ)
    return Command(
        argv=call.argv,
        env={**run.env, **call.env},
        cwd=run.cwd,
        stdin=place.folder.path / run.prompt,
        stdout=made.stream,
        stderr=made.stream.parent / STDERR,
    )


def _sealed(
    place: Place, part: PartFacts, run: PartRun, made: _Made, command: Command
) -> Containment:
    """The box of this part, tried out; what it must leave as it is, is on record. `NoBox`."""
    if run.walls is None:
        return place.containment
    places = run.agent.places(place.environ)
    guarding.make_own(place.folder, places)
    place.folder.write(EMPTY, b"")
    empty = place.folder.path / EMPTY
    room = Room(run.cwd, made.own, made.home, empty, run.reads, run.deploy)
    wanted = wanted_of(run.walls, room, places)
    guarding.note(place.boxes, place.folder, part.folder, wanted.guarded)
    proof = proof_of(run.walls, run.agent)
    return place.boxes.seal(place.containment, wanted, command, proof, place.clock)


@dataclass(slots=True)
class _Begun:
    """A part that runs. `since_s`: when it began, on the boot clock."""

    since_s: float
    run: PartRun
    stream: Path
    listening: tuple[Listener, ...] = ()
    """What listened on the session's ports when it was last looked at."""


class Silence:
    """How long a stream has not grown. Who talks is never stalled, however slow the work is."""

    def __init__(self, stream: Path, clock: Clock, limit_s: int) -> None:
        self._stream = stream
        self._clock = clock
        self._limit_s = limit_s
        self._size = -1
        self._since_s = clock.boot_s()

    def too_long(self) -> bool:
        """To be asked now and then; True once nothing came for the limit."""
        size = size_of(self._stream)
        if size != self._size:
            self._size, self._since_s = size, self._clock.boot_s()
        return 0 < self._limit_s <= self._clock.boot_s() - self._since_s


def _watched(place: Place, running: Box, begun: _Begun, watch: Watch) -> tuple[Exit, Cause | None]:
    deadline_s = place.clock.boot_s() + begun.run.runner.timeout_s
    silence = Silence(begun.stream, place.clock, begun.run.stall_s)
    while True:
        left_s = deadline_s - place.clock.boot_s()
        exit_ = running.wait(min(SLICE_S, max(0.0, left_s)), place.signals.fd)
        if exit_ is not None:
            return exit_, None
        place.signals.drain()
        begun.listening = place.boxes.seen(begun.run.ports, begun.since_s, place.folder.session)
        cause = watch.look()
        if cause is None and place.clock.boot_s() >= deadline_s:
            cause = "time"
        if cause is None and silence.too_long():
            cause = "stall"
        if cause is None and running.out_of_memory:
            # What it would do in a grace is to take more.
            return running.kill(), "memory"
        if cause is not None:
            return running.stop(STOP_GRACE_S), cause


def _clean_up(place: Place, begun: _Begun) -> tuple[str, ...]:
    """End what the part left running; what was ended, or left alone, in a person's words."""
    session = place.folder.session
    listeners = place.boxes.stop(begun.run.ports, begun.since_s, session, place.clock)
    told = {each.pid for each in listeners}
    gone = (each for each in begun.listening if each.pid not in told)
    return (*map(_listener, listeners), *map(_gone, gone), *_sweep(place))


def _without_own(place: Place, part: PartFacts, run: PartRun) -> tuple[str, ...]:
    """Undo what the part must not leave, and remove its scratch space and its home; what cannot be
    removed is told, and stops nothing."""
    told = guarding.undone(place.boxes, place.folder, part.folder) if run.walls else ()
    for name, what in ((run.tmp, "scratch space"), (f"{HOME}/{part.number}", "home")):
        try:
            place.folder.remove_tree(name)
        except ColonyError as error:
            told = (*told, f"its {what} stays: {error.line}")
    return told


def _gone(each: Listener) -> str:
    return f"ended with the part: pid {each.pid} on port {each.port}: {each.command}"


def _sweep(place: Place) -> tuple[str, ...]:
    return tuple(_swept(each) for each in place.boxes.sweep(place.folder.session, place.clock))


def _listener(each: Listener) -> str:
    pid = f"pid {each.pid}" if each.pid is not None else "a process"
    if each.outcome == "skipped":
        return f"skipped {pid} on port {each.port}: {each.reason}"
    return f"stopped {pid} on port {each.port} ({each.outcome}): {each.command}"


def _swept(each: Swept) -> str:
    return f"stopped pid {each.process.pid} ({each.ended}): {each.command}"


def stream_of(path: Path) -> Iterator[str]:
    """The stream's lines; what is no stream any more has none."""
    try:
        yield from stream_lines(path)
    except Refused:
        return


def read_part(
    place: Place,
    part: PartFacts,
    run: PartRun,
    how: tuple[Exit, Cause | None, Known],
    cleanup: tuple[str, ...] = (),
) -> Ended:
    """What the part's files say of a part whose process is gone. Its answer is written down."""
    exit_, cause, known = how
    turn = run.agent.read(stream_of(place.folder.path / part.folder / STREAM))
    told = place.folder.tail(f"{part.folder}/{STDERR}", STDERR_SHOWN).decode("utf-8", "replace")
    answer = ""
    if turn.has_structured:
        text = masked(dump_json(turn.structured), run.secrets)
        try:
            answer = place.folder.write(f"{part.folder}/{ANSWER}", text.encode())
        except Refused as error:
            cleanup = (*cleanup, f"its answer could not be kept: {error.line}")
    ending = ending_of(turn, exit_, cause, told, known)
    return Ended(
        turn=turn,
        exit=exit_,
        ending=ending,
        cause=cause,
        now_ms=place.clock.wall_ms(),
        answer_sha256=answer,
        cleanup=cleanup,
        said=masked(last_words(turn, ending, told), run.secrets),
    )
