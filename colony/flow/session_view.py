"""Sessions as lines: one in a list, and one in full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.going_on import Stand, stand_of, told_stand_of
from colony.core.lines import Json, Line, clip
from colony.core.markers import utc
from colony.core.outbox import Effect
from colony.core.records import SessionRecord
from colony.core.session import Facts, PartFacts, phase_of
from colony.core.spans import brief_span, show_bytes, show_span
from colony.core.texts.memory import held
from colony.flow.sightings import Elsewhere, Here, Sighting, Unreadable
from colony.host.sizes import Size, size_of

ENTRIES_MAX: Final = 5
"""Denials of a part, and what was ended after it, that are shown one by one."""
FILES_MAX: Final = 60
"""Files of a session that are shown one by one."""
WORDS_MAX: Final = 200
"""Characters of somebody else's words in a line."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """From where, and when."""

    host: str
    now_ms: int


# --- a list ----------------------------------------------------------------------------------

COLUMNS: Final = ("session", "ticket", "stands", "age", "took", "cost", "on host")


def cells(one: Here | Elsewhere, viewer: Viewer) -> tuple[str, ...]:
    """What a list shows of it, a column each: narrow enough that no name is ever cut. The host
    stands there only where it is another one."""
    match one:
        case Here(facts, running):
            stand = stand_of(facts, viewer.host, viewer.now_ms, running=running)
            here = facts.host.casefold() == viewer.host.casefold()
            return (
                facts.session,
                str(facts.ticket),
                stand.word,
                brief_span(viewer.now_ms - facts.started_ms),
                _took(facts, viewer.now_ms, running=running),
                _cost(facts),
                "" if here else clip(facts.host, 20),
            )
        case Elsewhere(record):
            return _cells_told(record, viewer)


def word_of(one: Here | Elsewhere, viewer: Viewer) -> str:
    """Where it stands, in a word."""
    match one:
        case Here(facts, running):
            return stand_of(facts, viewer.host, viewer.now_ms, running=running).word
        case Elsewhere(record):
            return told_stand_of(record, viewer.now_ms).word


def _cells_told(record: SessionRecord, viewer: Viewer) -> tuple[str, ...]:
    began, ended = record.started_ms, record.ended_ms
    until = ended if ended is not None else record.updated_ms
    return (
        clip(record.id, 40),
        str(record.ref),
        told_stand_of(record, viewer.now_ms).word,
        "" if began is None else brief_span(viewer.now_ms - began),
        "" if began is None else brief_span(until - began),
        f"${record.cost_usd:.2f}",
        clip(record.host, 20),
    )


def facts_line(one: Sighting, viewer: Viewer) -> Line:
    """The same, for programs; its text is that of the columns."""
    match one:
        case Here(facts, running):
            more = _json_of(facts, viewer, running=running)
            text = _joined(cells(one, viewer))
            return Line("session", text, str(facts.ticket), facts.session, facts=more)
        case Elsewhere(record):
            return _told_line(record, _joined(cells(one, viewer)), viewer)
        case Unreadable(session, reason):
            bad: dict[str, Json] = {"unreadable": reason, "here": True}
            text = f"{session} UNREADABLE: {clip(reason, WORDS_MAX)}"
            return Line("session", text, None, session, facts=bad)


def _joined(texts: tuple[str, ...]) -> str:
    return "  ".join(each for each in texts if each)


def _told_line(record: SessionRecord, text: str, viewer: Viewer) -> Line:
    stand = told_stand_of(record, viewer.now_ms)
    told: dict[str, Json] = {
        "host": record.host, "phase": record.phase, "outcome": record.outcome or None,
        "startedMs": record.started_ms, "endedMs": record.ended_ms,
        "costUsd": record.cost_usd, "toldMs": record.updated_ms, "stands": stand.word,
        "running": stand.word == "running", "remedy": stand.remedy or None, "here": False,
    }  # fmt: skip
    return Line("session", text, str(record.ref), record.id, facts=told)


def told_in_full(record: SessionRecord, viewer: Viewer) -> Iterator[Line]:
    """A session of another host, as far as the tracker was told of it."""
    cost = f"${record.cost_usd:.2f}"
    phase = clip(record.phase, 40) + (f": {clip(record.outcome, 60)}" if record.outcome else "")
    stand = told_stand_of(record, viewer.now_ms)
    yield _told_line(record, f"{clip(record.id, 40)} {record.ref} {phase} · {cost}", viewer)
    told = show_span(viewer.now_ms - record.updated_ms)
    host = clip(record.host, 60)
    for text in (
        f"on host {host}, told {told} ago",
        f"began {utc(record.started_ms)}" if record.started_ms is not None else "",
        f"ended {utc(record.ended_ms)}" if record.ended_ms is not None else "",
        f"does: {clip(record.step, WORDS_MAX)}" if record.step and stand.word == "running" else "",
        f"last tool: {clip(record.last_tool, WORDS_MAX)}" if record.last_tool else "",
        f"its files are on {host}: colony sessions {clip(record.id, 40)} there shows more",
        stand.text + (f" — {stand.remedy}" if stand.remedy else ""),
    ):
        if text:
            yield Line("session.text", text, str(record.ref), record.id)


def _json_of(facts: Facts, viewer: Viewer, *, running: bool) -> dict[str, Json]:
    stand = stand_of(facts, viewer.host, viewer.now_ms, running=running)
    return {
        "host": facts.host, "phase": phase_of(facts),
        "outcome": str(facts.outcome) if facts.outcome else None,
        "startedMs": facts.started_ms, "endedMs": facts.ended_ms, "costUsd": facts.cost_usd,
        "costKnown": all(each.cost_known for each in facts.parts), "stands": stand.word,
        "running": running, "remedy": stand.remedy or None, "here": True,
    }  # fmt: skip


def _took(facts: Facts, now_ms: int, *, running: bool) -> str:
    """How long it went on; nothing for one that was left, since nobody knows when."""
    if facts.ended_ms is not None:
        return brief_span(facts.ended_ms - facts.started_ms)
    return brief_span(now_ms - facts.started_ms) if running else ""


def _cost(facts: Facts) -> str:
    """Where a part was cut off, at least so much."""
    cut = any(each.ended is not None and not each.cost_known for each in facts.parts)
    return f"{'≥' if cut else ''}${facts.cost_usd:.2f}"


# --- one in full -----------------------------------------------------------------------------


def in_full(one: Here, folder: Path, viewer: Viewer) -> Iterator[Line]:
    """Head, parts, lease, report and verdict, outbox, files; last where it stands."""
    facts = one.facts
    stand = stand_of(facts, viewer.host, viewer.now_ms, running=one.running)
    yield _head(facts, stand, viewer, running=one.running)
    for part in facts.parts:
        yield from _part(facts, part, viewer)
    for text in (*_state(facts), *_outbox(facts.outbox), *_files(folder)):
        yield _text(facts, text)
    yield _text(facts, stand.text + (f" — {stand.remedy}" if stand.remedy else ""))


def _head(facts: Facts, stand: Stand, viewer: Viewer, *, running: bool) -> Line:
    took, phase = _took(facts, viewer.now_ms, running=running), phase_of(facts)
    stands = phase if phase == stand.word else f"{phase}: {stand.word}"
    text = (
        f"{facts.session} {facts.ticket} {stands} ·"
        f" began {utc(facts.started_ms)}{' · ' + took if took else ''} · {_cost(facts)}"
        f" · {facts.steps} steps · host {clip(facts.host, 60)}"
        f" · {'posts' if facts.post else 'does not post by itself'}"
    )
    more = _json_of(facts, viewer, running=running)
    return Line("session", text, str(facts.ticket), facts.session, facts=more)


def _part(facts: Facts, part: PartFacts, viewer: Viewer) -> Iterator[Line]:
    runner = facts.setup.runner(part.kind)
    until = part.ended_ms if part.ended_ms is not None else viewer.now_ms
    cost = f"${part.cost_usd:.2f}" if part.cost_known else "cost not known"
    denied = f" · {len(part.denials)} denied" if part.denials else ""
    text = (
        f"part {part.number} {part.kind} by {clip(runner.agent, 40)} ({clip(runner.model, 60)}):"
        f" {part.how} · {show_span(until - part.started_ms)} · {part.steps} steps · {cost}{denied}"
    )
    memory = held(part.peak_bytes, facts.setup.memory_max, part.counted_by)
    text += f" · {memory}" if memory else ""
    more: dict[str, Json] = {
        "part": part.number, "partKind": part.kind,
        "ended": str(part.ended) if part.ended else None, "said": part.said or None,
        "startedMs": part.started_ms, "endedMs": part.ended_ms, "steps": part.steps,
        "costUsd": part.cost_usd, "costKnown": part.cost_known, "denials": list(part.denials),
        "models": list(part.models), "exitCode": part.exit_code, "exitSignal": part.exit_signal,
        "files": part.folder, "peakBytes": part.peak_bytes or None,
        "memoryMaxBytes": facts.setup.memory_max or None,
    }  # fmt: skip
    yield Line("session.part", text, str(facts.ticket), facts.session, facts=more)
    for what, entries in (("denied", part.denials), ("cleanup", part.cleanup)):
        for entry in entries[:ENTRIES_MAX]:
            yield _text(facts, f"  {what}: {clip(entry, WORDS_MAX)}")
        if len(entries) > ENTRIES_MAX:
            yield _text(facts, f"  {what}: and {len(entries) - ENTRIES_MAX} more")


def _state(facts: Facts) -> Iterator[str]:
    lease = facts.lease
    if lease is None:
        yield "lease: none was taken"
    else:
        lost = {"moved": ", lost: a person moved the ticket", "taken": ", lost: somebody took it"}
        yield (
            f"lease: event {lease.token}, last until {utc(lease.until_ms)},"
            f" {lease.renewals} renewals{lost[facts.lost] if facts.lost else ''}"
        )
    report, verdict = facts.report, facts.verdict
    if report is not None:
        how = ("complete" if report.complete else "half done") if report.valid else "cannot be used"
        yield f"report: {how} (part {report.part}){_first(report.problems)}"
    if verdict is not None:
        how = ("pass" if verdict.passed else "fail") if verdict.valid else "cannot be used"
        ruled = ", overruled by code" if verdict.overruled else ""
        yield f"verdict: {how}{ruled} (part {verdict.part}){_first(verdict.problems)}"


def _first(problems: tuple[str, ...]) -> str:
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f": {clip(problems[0], WORDS_MAX)}{more}" if problems else ""


def _outbox(effects: tuple[Effect, ...]) -> Iterator[str]:
    for each in effects:
        yield f"outbox: {_effect(each)} — {each.status}{f' ({each.why})' if each.why else ''}"


def _effect(each: Effect) -> str:
    match each.kind:
        case "create":
            subject = each.new.subject if each.new else ""
            return f"ticket {each.made or 'to be made'}: {clip(subject, WORDS_MAX)}"
        case "block":
            return f"blocked by what {each.by} made"
        case "comment":
            return "comment"
        case "move":
            return f"move to {each.state}"


def _files(folder: Path) -> Iterator[str]:
    """Each file of the session with its size; what is the agent's own is summed up."""
    found = sorted(_listed(folder))
    for name, size in found[:FILES_MAX]:
        least = "" if size.whole else "at least "
        count = f", {size.files} files" if name.endswith("/") else ""
        yield f"file: {clip(name, WORDS_MAX)} ({least}{show_bytes(size.content)}{count})"
    if len(found) > FILES_MAX:
        yield f"file: and {len(found) - FILES_MAX} more"
    yield f"folder: {folder}"


def _listed(folder: Path) -> Iterator[tuple[str, Size]]:
    for path in _entries(folder):
        if path.name == "parts" and _is_folder(path):
            for part in _entries(path):
                below = _entries(part) if _is_folder(part) else (part,)
                yield from ((str(each.relative_to(folder)), size_of(each)) for each in below)
        else:
            yield f"{path.name}{'/' if _is_folder(path) else ''}", size_of(path)


def _entries(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(folder.iterdir())
    except OSError:
        return ()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _text(facts: Facts, text: str) -> Line:
    return Line("session.text", text, str(facts.ticket), facts.session)
