"""Reads the stream-json dialect: one JSON object a line, whole or cut anywhere, into one Turn.

Everything in a stream is hostile but its order. A line that is no JSON object is counted and left
out; a known field of a wrong type counts as missing; an unknown event is passed over. What goes
to the limit detectors is built here from typed fields of the program's own events only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Final

from colony.coding import fields
from colony.coding.fields import SYNTHETIC, Object
from colony.coding.limits import ProgramError, RateEvent, limit_of
from colony.coding.resets import iso_to_ms, seconds_to_ms
from colony.core.lines import Json, clip
from colony.core.turn import (
    COST_MAX_USD,
    Denial,
    Limit,
    Reading,
    Step,
    Turn,
    Usage,
    added,
    share_of,
)

TEXT_MAX: Final = 4_000
"""Characters kept of a closing or error text."""


OVERUSED_MAX: Final = 2.0
"""A window that tells a little more than all of it is full: requests under way counted on."""


def read_turn(stream: Iterable[str], zone: tzinfo) -> Turn:
    """The whole stream as one Turn. Never raises for what the lines say.

    Of several results the last one with a structured answer is the run's; usage and turns are
    summed, as each result counts its own. `zone` is meant by reset times that name none.
    """
    run = _Run(zone)
    for line in stream:
        if not line.strip():
            continue
        event = fields.parse_line(line)
        if event is None:
            run.unreadable += 1
            continue
        run.events += 1
        handler = _EVENTS.get(fields.text(event, "type"))
        if handler is not None:
            handler(run, event)
    return run.turn()


def read_steps(stream: Iterable[str]) -> Iterator[Step]:
    """What happened, in order: the agent's words, its tool calls, their results."""
    tools: dict[str, str] = {}
    for line in stream:
        event = fields.parse_line(line)
        kind = "" if event is None else fields.text(event, "type")
        if event is None or kind not in ("assistant", "user"):
            continue
        synthetic = fields.text(fields.inner(event, "message"), "model") == SYNTHETIC
        for block in fields.blocks(event):
            step = _step(kind, block, tools)
            if step is not None:
                yield replace(step, by_program=True) if synthetic else step


# --- one run, folded -----------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    """What the lines said so far."""

    zone: tzinfo
    events: int = 0
    unreadable: int = 0
    init: Turn = field(default_factory=Turn)
    result: Object | None = None
    answered: Object | None = None
    error: ProgramError | None = None
    """The newest error message of the program, for a stream that ends before its result."""
    limit: Limit | None = None
    quota: dict[str, Reading] = field(default_factory=dict)
    warned: bool = False
    usages: dict[str, Usage] = field(default_factory=dict)
    counted: Usage = field(default_factory=Usage)
    turns: int = 0
    cost: float | None = None
    models: dict[str, None] = field(default_factory=dict)
    denials: dict[str, Denial] = field(default_factory=dict)
    last_tool: str = ""
    at_ms: int | None = None

    def turn(self) -> Turn:
        chosen = self.answered if self.answered is not None else self.result
        turn = replace(
            self.init,
            turns=self.turns,
            total_cost_usd=self.cost,
            models=tuple(self.models),
            denials=tuple(self.denials.values()),
            limit=self.limit,
            near_limit=self.warned,
            quota=tuple(self.quota.values()),
            last_tool=self.last_tool,
            events=self.events,
            unreadable=self.unreadable,
        )
        return self._closed(turn, chosen) if chosen is not None else self._cut(turn)

    def _closed(self, turn: Turn, result: Object) -> Turn:
        structured = result.get("structured_output")
        error = _error_of_result(result, self.at_ms)
        word = error.word if error is not None else ""
        if error is not None and not word and self.error is not None:
            word = self.error.word
        return replace(
            turn,
            agent_session=fields.word(result, "session_id") or turn.agent_session,
            finished=True,
            is_error=result.get("is_error") is True,
            subtype=fields.word(result, "subtype"),
            terminal_reason=fields.word(result, "terminal_reason"),
            stop_reason=fields.word(result, "stop_reason"),
            api_status=fields.whole(result, "api_error_status"),
            api_error=word or (fields.word(result, "api_error_type") if error else ""),
            text=_closing_text(result),
            structured=structured,
            has_structured=structured is not None,
            usage=self.counted,
        )

    def _cut(self, turn: Turn) -> Turn:
        """A stream without a result: nothing in it is an answer."""
        turn = replace(turn, usage=sum(self.usages.values(), Usage()))
        if self.error is None:
            return turn
        return replace(
            turn,
            is_error=True,
            api_status=self.error.status,
            api_error=self.error.word,
            text=self.error.text,
        )

    def sign(self, sign: RateEvent | ProgramError) -> None:
        """Take a sign of a limit. A time from a typed event stands against one read in a text."""
        found = limit_of(sign, self.zone)
        if found is None:
            return
        before = self.limit or Limit("")
        known = [at for at in (before.until_ms, found.until_ms) if at is not None]
        if isinstance(sign, ProgramError):
            known = known[:1]
        self.limit = Limit(found.text, max(known, default=None), found.window or before.window)


def _on_system(run: _Run, event: Object) -> None:
    subtype = fields.text(event, "subtype")
    if subtype == "init":
        run.init = replace(
            run.init,
            agent_session=fields.word(event, "session_id") or run.init.agent_session,
            permission_mode=fields.word(event, "permissionMode") or run.init.permission_mode,
            version=fields.word(event, "claude_code_version") or run.init.version,
        )
    elif subtype == "permission_denied":
        _deny(run, event, fields.text(event, "message"))


def _on_assistant(run: _Run, event: Object) -> None:
    message = fields.inner(event, "message")
    at = iso_to_ms(fields.text(event, "timestamp"))
    run.at_ms = at if at is not None else run.at_ms
    if fields.text(message, "model") == SYNTHETIC:
        if event.get("is_api_error_message") is True or fields.text(event, "error"):
            run.error = _error_of_message(event, run.at_ms)
            run.sign(run.error)
        return
    run.error = None
    if model := fields.text(message, "model"):
        run.models[clip(model, fields.WORD_MAX)] = None
    key = fields.text(message, "id") or f"#{run.events}"
    run.usages[key] = _usage(fields.inner(message, "usage"))
    for block in fields.blocks(event):
        if fields.text(block, "type") == "tool_use":
            run.last_tool = fields.word(block, "name")


def _on_rate_limit(run: _Run, event: Object) -> None:
    info = fields.inner(event, "rate_limit_info")
    status = fields.text(info, "status")
    sign = RateEvent(
        status=status,
        window=fields.word(info, "rateLimitType"),
        resets_ms=_reset(info),
        on_overage=info.get("isUsingOverage") is True,
    )
    if status in ("allowed", "allowed_warning"):
        run.limit = None
        run.warned = status == "allowed_warning"
    run.sign(sign)
    windows = fields.inner(info, "unifiedWindows")
    for name, window in windows.items():
        if isinstance(window, dict) and len(run.quota) < 20:
            run.quota[name] = _reading(name, window)
    if sign.window and sign.window not in windows:
        run.quota[sign.window] = _reading(sign.window, info)


def _on_result(run: _Run, event: Object) -> None:
    run.result = event
    if event.get("structured_output") is not None:
        run.answered = event
    run.turns = added(run.turns, max(0, fields.whole(event, "num_turns") or 0))
    cost = fields.number(event, "total_cost_usd")
    if cost is not None and 0 <= cost <= COST_MAX_USD:
        run.cost = cost
    run.counted += _usage(fields.inner(event, "usage"))
    for model in fields.inner(event, "modelUsage"):
        run.models[clip(model, fields.WORD_MAX)] = None
    denials = event.get("permission_denials")
    for denial in denials if isinstance(denials, list) else []:
        if isinstance(denial, dict):
            _deny(run, denial, _call_text(denial.get("tool_input")))
    error = _error_of_result(event, run.at_ms)
    if error is not None:
        run.sign(error)


_EVENTS: Final[dict[str, Callable[[_Run, Object], None]]] = {
    "system": _on_system,
    "assistant": _on_assistant,
    "rate_limit_event": _on_rate_limit,
    "result": _on_result,
}
"""Events that a Turn is made of. `user` events are not among them: they carry tool output."""


# --- what the program itself says ----------------------------------------------------------


def _error_of_result(result: Object, at_ms: int | None) -> ProgramError | None:
    """The error that a result reports. A result without an error is the model's prose: left out."""
    status = fields.whole(result, "api_error_status")
    failed = result.get("is_error") is True
    if not failed and status is None:
        return None
    # Such an end names its cause, and its text may quote what the model answered.
    names_itself = fields.text(result, "subtype").startswith("error_max_")
    return ProgramError(
        text=_closing_text(result) if failed and not names_itself else "",
        word=fields.word(result, "api_error"),
        status=status,
        at_ms=at_ms,
    )


def _error_of_message(event: Object, at_ms: int | None) -> ProgramError:
    return ProgramError(
        text=clip(fields.blocks_text(event), TEXT_MAX),
        word=fields.word(event, "api_error") or fields.word(event, "error"),
        status=fields.whole(event, "api_error_status"),
        at_ms=at_ms,
    )


def _closing_text(result: Object) -> str:
    text = fields.text(result, "result")
    errors = result.get("errors")
    if not text and isinstance(errors, list):
        text = "; ".join(each for each in errors if isinstance(each, str))
    return text[:TEXT_MAX]


def _deny(run: _Run, denial: Object, detail: str) -> None:
    key = fields.text(denial, "tool_use_id") or f"#{len(run.denials)}"
    tool = fields.word(denial, "tool_name")
    run.denials[key] = Denial(tool, clip(detail, fields.WORD_MAX))


def _reset(info: Object) -> int | None:
    seconds = fields.number(info, "resetsAt")
    return None if seconds is None else seconds_to_ms(seconds)


def _reading(name: str, window: Object) -> Reading:
    return Reading(
        window=clip(name, fields.WORD_MAX),
        used=_used(window),
        resets_ms=_reset(window),
        status=fields.word(window, "status"),
    )


def _used(window: Object) -> float | None:
    used = fields.number(window, "utilization")
    return 1.0 if used is not None and 1 < used <= OVERUSED_MAX else share_of(used, 1)


# --- steps ---------------------------------------------------------------------------------


def _step(kind: str, block: Object, tools: dict[str, str]) -> Step | None:
    match (kind, fields.text(block, "type")):
        case ("assistant", "text"):
            return Step("text", fields.text(block, "text"))
        case ("assistant", "tool_use"):
            tool = fields.text(block, "name")
            tools[fields.text(block, "id")] = tool
            return Step("call", _call_text(block.get("input")), tool)
        case ("user", "tool_result"):
            tool = tools.get(fields.text(block, "tool_use_id"), "")
            return Step("result", _result_text(block.get("content")), tool)
        case _:
            return None


def _call_text(value: Json) -> str:
    """A shell command as typed, any other input as compact JSON."""
    if isinstance(value, dict) and isinstance(value.get("command"), str):
        return fields.text(value, "command")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _result_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(fields.text(part, "text") for part in parts if isinstance(part, dict))


# --- parts of an event -----------------------------------------------------------------------


def _usage(usage: Object) -> Usage:
    def count(key: str) -> int:
        return max(0, fields.whole(usage, key) or 0)

    return Usage(
        input_tokens=count("input_tokens"),
        output_tokens=count("output_tokens"),
        cache_read_tokens=count("cache_read_input_tokens"),
        cache_write_tokens=count("cache_creation_input_tokens"),
    )
