"""Follow a session: its tool calls and words as they come, part after part, to its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.coding.protocol import CodingAgent
from colony.core.allowlist import masked
from colony.core.going_on import Stand, stand_of, told_stand_of
from colony.core.lines import Json, Line, clip
from colony.core.overlap import appended
from colony.core.records import SessionRecord
from colony.core.session import Facts, PartFacts, Runner, phase_of
from colony.core.spans import show_span
from colony.core.turn import Step
from colony.errors import ColonyError, NotFound, Refused, Unreachable
from colony.flow.sightings import Here, Unreadable, sighted
from colony.host.clock import Clock
from colony.host.journal import RunFolder
from colony.host.streams import STREAM, new_lines
from colony.tracker.records.reads import RecordReads

STEP_MAX: Final = 200
"""Characters of one step."""
LOOK_S: Final = 0.5
"""Between two looks at a run folder."""
ASK_S: Final = 2.0
"""Between two questions to the tracker."""
SILENT_MAX: Final = 15
"""Questions in a row that the tracker may leave without an answer."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who watches, and how: `pause` waits so many seconds, `agent_for` reads a part's stream.

    `backlog`: steps that are shown of what was before; None shows all. `secrets_of`: the test
    credentials of a project, masked in what is shown, as far as they can be read.
    """

    host: str
    clock: Clock
    pause: Callable[[float], None]
    agent_for: Callable[[Runner], CodingAgent]
    backlog: int | None
    secrets_of: Callable[[str], Mapping[str, str]] = lambda _: {}


# --- from the run folder ---------------------------------------------------------------------


def follow(folder: RunFolder, watcher: Watcher) -> Iterator[Line]:
    """Lines until nobody works on the session any more; the last one says how it stands.

    `Refused`: the run folder cannot be read, or not any more.
    """
    one = _look(folder)
    yield _begin(one, watcher)
    follower = _Parts(folder.path, watcher)
    yield from _latest(follower.news(one.facts), watcher.backlog)
    while True:
        before, one = one, _look(folder)
        yield from follower.news(one.facts)
        if not one.running and one == before:
            yield _end(one, watcher)
            return
        if one.running:
            watcher.pause(LOOK_S)


def _look(folder: RunFolder) -> Here:
    found = sighted(folder)
    if isinstance(found, Unreadable):
        raise Refused(f"{folder.path} cannot be read: {found.reason}")
    return found


def _latest(lines: Iterator[Line], backlog: int | None) -> Iterator[Line]:
    """The last so many steps, and what stands between them; said how many are left out."""
    if backlog is None:
        yield from lines
        return
    kept: deque[Line] = deque()
    steps = left_out = 0
    for line in lines:
        kept.append(line)
        steps += line.kind == "tail.step"
        while steps > backlog:
            gone = kept.popleft()
            if gone.kind == "tail.step":
                steps -= 1
                left_out += 1
    if left_out:
        count = f"{left_out} earlier step{'s' if left_out != 1 else ''}"
        yield Line("note", f"… {count}: --all shows them", facts={"leftOut": left_out})
    yield from kept


class _Parts:
    """Reads the streams of a session's parts, each once from front to back."""

    def __init__(self, folder: Path, watcher: Watcher) -> None:
        self._folder = folder
        self._watcher = watcher
        self._done = 0
        self._reader: _Reader | None = None

    def news(self, facts: Facts) -> Iterator[Line]:
        """What happened since the last look. `facts` were read before: of a part that has ended
        in them the whole stream is there."""
        for part in facts.parts[self._done :]:
            if self._reader is None:
                self._reader = _Reader(self._folder, facts, part, self._watcher)
                yield _part_line(facts, part, f"began {self._ago(part.started_ms)}")
            yield from self._reader.news()
            if part.ended is None:
                return
            cost = f" · ${part.cost_usd:.2f}" if part.cost_known else ""
            took = show_span((part.ended_ms or part.started_ms) - part.started_ms)
            yield _part_line(facts, part, f"ended: {part.how} · {took}{cost}")
            self._done += 1
            self._reader = None

    def _ago(self, at_ms: int) -> str:
        return f"{show_span(self._watcher.clock.wall_ms() - at_ms)} ago"


class _Reader:
    """One part's stream. What cannot be read is told once, and stops nothing."""

    def __init__(
        self,
        folder: Path,
        facts: Facts,
        part: PartFacts,
        watcher: Watcher,
    ) -> None:
        self._stream = folder / part.folder / STREAM
        self._facts = facts
        self._part = part
        self._agent_for = watcher.agent_for
        self._secrets = watcher.secrets_of(facts.ticket.project)
        self._read = 0
        self._steps = 0
        self._told = ""

    def news(self) -> Iterator[Line]:
        try:
            agent = self._agent_for(self._facts.setup.runner(self._part.kind))
            while True:
                before = self._read
                lines, self._read = new_lines(self._stream, before)
                for step in agent.steps(lines):
                    if step.kind != "result":
                        yield self._line(step)
                if self._read == before:
                    return
        except (ColonyError, OSError) as problem:
            told = problem.line if isinstance(problem, ColonyError) else str(problem)
            if told != self._told:
                self._told = told
                yield Line("warning", f"— its steps cannot be read: {told}")

    def _line(self, step: Step) -> Line:
        self._steps += 1
        # Before anything is cut: half a secret is one, too.
        tool = clip(masked(step.tool, self._secrets), 60)
        words = clip(masked(step.text, self._secrets), STEP_MAX)
        said = f"{tool or 'a tool'}: {words}" if step.kind == "call" else f"says: {words}"
        more: dict[str, Json] = {
            "part": self._part.number, "partKind": self._part.kind, "step": self._steps,
            "what": step.kind, "tool": tool or None, "said": words,
        }  # fmt: skip
        facts = self._facts
        text = f"{self._part.kind} {self._steps} {said}"
        return Line("tail.step", text, str(facts.ticket), facts.session, facts=more)


def _begin(one: Here, watcher: Watcher) -> Line:
    facts = one.facts
    stand = stand_of(facts, watcher.host, watcher.clock.wall_ms(), running=one.running)
    text = f"{facts.session} {facts.ticket} {phase_of(facts)}: {stand.word}"
    more: dict[str, Json] = {"phase": phase_of(facts), "running": one.running}
    return Line("tail", text, str(facts.ticket), facts.session, facts=more)


def _part_line(facts: Facts, part: PartFacts, what: str) -> Line:
    runner = facts.setup.runner(part.kind)
    by = f"{clip(runner.agent, 40)} ({clip(runner.model, 60)})"
    text = f"{facts.session} part {part.number} {part.kind} by {by} {what}"
    more: dict[str, Json] = {
        "part": part.number, "partKind": part.kind,
        "ended": str(part.ended) if part.ended is not None else None,
        "said": part.said or None,
    }  # fmt: skip
    return Line("tail", text, str(facts.ticket), facts.session, facts=more)


def _end(one: Here, watcher: Watcher) -> Line:
    facts = one.facts
    stand = stand_of(facts, watcher.host, watcher.clock.wall_ms(), running=False)
    remedy = f" — {stand.remedy}" if stand.remedy else ""
    text = f"{facts.session} {facts.ticket} {stand.text} · ${facts.cost_usd:.2f}{remedy}"
    more: dict[str, Json] = {
        "phase": phase_of(facts), "outcome": str(facts.outcome) if facts.outcome else None,
        "costUsd": facts.cost_usd, "remedy": stand.remedy or None,
    }  # fmt: skip
    return Line("tail", text, str(facts.ticket), facts.session, facts=more)


# --- from the tracker ------------------------------------------------------------------------


def follow_told(tracker: RecordReads, session: str, watcher: Watcher) -> Iterator[Line]:
    """A session of another host, as it is told to the tracker, until it ends, rests or is silent.

    `NotFound`: no such session. `Unreachable`: the tracker is silent for too long.
    """
    record = tracker.session(session)
    now_ms = watcher.clock.wall_ms()
    yield _told_line(
        record, f"{clip(record.phase, 40)} on {clip(record.host, 60)}, {_age(record, now_ms)}"
    )
    before: list[str] = []
    silent = 0
    while True:
        try:
            # The record first: once nobody works on it, the tail is whole.
            record = tracker.session(session)
            now = tracker.tail(session).splitlines()
            silent = 0
        except NotFound:
            raise
        except Unreachable:
            silent += 1
            if silent > SILENT_MAX:
                raise
            watcher.pause(ASK_S)
            continue
        new = [_tail_line(record, text) for text in appended(before, now) if text.strip()]
        yield from _latest(iter(new), watcher.backlog if not before else None)
        before = now
        stand = told_stand_of(record, watcher.clock.wall_ms())
        if stand.word != "running":
            yield _told_end(record, stand)
            return
        watcher.pause(ASK_S)


def _tail_line(record: SessionRecord, text: str) -> Line:
    said = clip(text, STEP_MAX)
    more: dict[str, Json] = {"what": "told", "said": said}
    return Line("tail.step", said, str(record.ref), record.id, facts=more)


def _told_line(record: SessionRecord, text: str) -> Line:
    more: dict[str, Json] = {
        "host": record.host, "phase": record.phase, "outcome": record.outcome or None,
        "costUsd": record.cost_usd, "toldMs": record.updated_ms,
    }  # fmt: skip
    said = f"{clip(record.id, 40)} {record.ref} {text}"
    return Line("tail", said, str(record.ref), record.id, facts=more)


def _told_end(record: SessionRecord, stand: Stand) -> Line:
    remedy = f" — {stand.remedy}" if stand.remedy else ""
    return _told_line(record, f"{stand.text} · ${record.cost_usd:.2f}{remedy}")


def _age(record: SessionRecord, now_ms: int) -> str:
    return f"told {show_span(now_ms - record.updated_ms)} ago"
