"""Reads the stream-json dialect: one JSON object a line, whole or cut anywhere, into one Turn.

Everything in a stream is hostile but its order. A line that is no JSON object is counted and left
out; a known field of a wrong type counts as missing; an unknown event is passed over. What goes
to the limit detectors is built here from typed fields of the program's own events only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Final

from colony.coding.limits import ProgramError, RateEvent, limit_of, seconds_to_ms
from colony.core.lines import Json, clip
from colony.core.turn import (
    COST_MAX_USD,
    COUNT_MAX,
    Denial,
    Limit,
    Reading,
    Step,
    Turn,
    Usage,
    added,
)

LINE_MAX: Final = 64 * 1024 * 1024
"""Characters; a longer line is not parsed. Answers of a megabyte are ordinary."""
TEXT_MAX: Final = 4_000
"""Characters kept of a closing or error text."""
DETAIL_MAX: Final = 300
SYNTHETIC: Final = "<synthetic>"
"""The model named in a message that the program itself wrote."""

Object = dict[str, Json]

_UNWRITABLE: Final = re.compile("[\x00\ud800-\udfff]")


def read_turn(stream: Iterable[str], zone: tzinfo) -> Turn:
    """The whole stream as one Turn. Never raises for what the lines say.

    Of several results the last one with a structured answer is the run's; usage and turns are
    summed, as each result counts its own. `zone` is meant by reset times that name none.
    """
    run = _Run(zone)
    for line in stream:
        if not line.strip():
            continue
        event = parse_line(line)
        if event is None:
            run.unreadable += 1
            continue
        run.events += 1
        handler = _EVENTS.get(_text(event, "type"))
        if handler is not None:
            handler(run, event)
    return run.turn()


def parse_line(line: str) -> Object | None:
    """A line as a JSON object with finite numbers and text that can be written; else None."""
    if len(line) > LINE_MAX:
        return None
    try:
        value = json.loads(line)
        if not isinstance(value, dict):
            return None
        return {_clean(key): _cleaned(each) for key, each in value.items()}
    except (ValueError, RecursionError):
        return None


def read_steps(stream: Iterable[str]) -> Iterator[Step]:
    """What happened, in order: the agent's words, its tool calls, their results."""
    tools: dict[str, str] = {}
    for line in stream:
        event = parse_line(line)
        kind = "" if event is None else _text(event, "type")
        if event is None or kind not in ("assistant", "user"):
            continue
        for block in _blocks(event):
            step = _step(kind, block, tools)
            if step is not None:
                yield step


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
            agent_session=_word(result, "session_id") or turn.agent_session,
            finished=True,
            is_error=result.get("is_error") is True,
            subtype=_word(result, "subtype"),
            terminal_reason=_word(result, "terminal_reason"),
            stop_reason=_word(result, "stop_reason"),
            api_status=_whole(result, "api_error_status"),
            api_error=word or (_word(result, "api_error_type") if error else ""),
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
    subtype = _text(event, "subtype")
    if subtype == "init":
        run.init = replace(
            run.init,
            agent_session=_word(event, "session_id") or run.init.agent_session,
            permission_mode=_word(event, "permissionMode") or run.init.permission_mode,
            version=_word(event, "claude_code_version") or run.init.version,
        )
    elif subtype == "permission_denied":
        _deny(run, event, _text(event, "message"))


def _on_assistant(run: _Run, event: Object) -> None:
    message = _object(event, "message")
    at = _moment(_text(event, "timestamp"))
    run.at_ms = at if at is not None else run.at_ms
    if _text(message, "model") == SYNTHETIC:
        if event.get("is_api_error_message") is True or _text(event, "error"):
            run.error = _error_of_message(event, run.at_ms)
            run.sign(run.error)
        return
    run.error = None
    if model := _text(message, "model"):
        run.models[clip(model, DETAIL_MAX)] = None
    key = _text(message, "id") or f"#{run.events}"
    run.usages[key] = _usage(_object(message, "usage"))
    for block in _blocks(event):
        if _text(block, "type") == "tool_use":
            run.last_tool = _word(block, "name")


def _on_rate_limit(run: _Run, event: Object) -> None:
    info = _object(event, "rate_limit_info")
    status = _text(info, "status")
    sign = RateEvent(
        status=status,
        window=_word(info, "rateLimitType"),
        resets_ms=_reset(info),
        on_overage=info.get("isUsingOverage") is True,
    )
    if status in ("allowed", "allowed_warning"):
        run.limit = None
        run.warned = status == "allowed_warning"
    run.sign(sign)
    windows = _object(info, "unifiedWindows")
    for name, window in windows.items():
        if isinstance(window, dict) and len(run.quota) < 20:
            run.quota[name] = _reading(name, window)
    if sign.window and sign.window not in windows:
        run.quota[sign.window] = _reading(sign.window, info)


def _on_result(run: _Run, event: Object) -> None:
    run.result = event
    if event.get("structured_output") is not None:
        run.answered = event
    run.turns = added(run.turns, max(0, _whole(event, "num_turns") or 0))
    cost = _number(event, "total_cost_usd")
    if cost is not None and 0 <= cost <= COST_MAX_USD:
        run.cost = cost
    run.counted += _usage(_object(event, "usage"))
    for model in _object(event, "modelUsage"):
        run.models[clip(model, DETAIL_MAX)] = None
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
    status = _whole(result, "api_error_status")
    failed = result.get("is_error") is True
    if not failed and status is None:
        return None
    return ProgramError(
        text=_closing_text(result) if failed else "",
        word=_word(result, "api_error"),
        status=status,
        at_ms=at_ms,
    )


def _error_of_message(event: Object, at_ms: int | None) -> ProgramError:
    text = " ".join(
        _text(block, "text") for block in _blocks(event) if _text(block, "type") == "text"
    )
    return ProgramError(
        text=clip(text, TEXT_MAX),
        word=_word(event, "api_error") or _word(event, "error"),
        status=_whole(event, "api_error_status"),
        at_ms=at_ms,
    )


def _closing_text(result: Object) -> str:
    text = _text(result, "result")
    errors = result.get("errors")
    if not text and isinstance(errors, list):
        text = "; ".join(each for each in errors if isinstance(each, str))
    return text[:TEXT_MAX]


def _deny(run: _Run, denial: Object, detail: str) -> None:
    key = _text(denial, "tool_use_id") or f"#{len(run.denials)}"
    tool = _word(denial, "tool_name")
    run.denials[key] = Denial(tool, clip(detail, DETAIL_MAX))


def _reset(info: Object) -> int | None:
    seconds = _number(info, "resetsAt")
    return None if seconds is None else seconds_to_ms(seconds)


def _reading(name: str, window: Object) -> Reading:
    return Reading(
        window=clip(name, DETAIL_MAX),
        used=_number(window, "utilization"),
        resets_ms=_reset(window),
        status=_word(window, "status"),
    )


# --- steps ---------------------------------------------------------------------------------


def _step(kind: str, block: Object, tools: dict[str, str]) -> Step | None:
    match (kind, _text(block, "type")):
        case ("assistant", "text"):
            return Step("text", _text(block, "text"))
        case ("assistant", "tool_use"):
            tool = _text(block, "name")
            tools[_text(block, "id")] = tool
            return Step("call", _call_text(block.get("input")), tool)
        case ("user", "tool_result"):
            tool = tools.get(_text(block, "tool_use_id"), "")
            return Step("result", _result_text(block.get("content")), tool)
        case _:
            return None


def _call_text(value: Json) -> str:
    """A shell command as typed, any other input as compact JSON."""
    if isinstance(value, dict) and isinstance(value.get("command"), str):
        return _text(value, "command")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _result_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(_text(part, "text") for part in parts if isinstance(part, dict))


# --- fields, or nothing --------------------------------------------------------------------


def _text(event: Object, key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _word(event: Object, key: str) -> str:
    return clip(_text(event, key), DETAIL_MAX)


def _object(event: Object, key: str) -> Object:
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def _number(event: Object, key: str) -> float | None:
    value = event.get(key)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _whole(event: Object, key: str) -> int | None:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return max(-COUNT_MAX, min(value, COUNT_MAX))


def _blocks(event: Object) -> list[Object]:
    content = _object(event, "message").get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def _usage(usage: Object) -> Usage:
    def count(key: str) -> int:
        return max(0, _whole(usage, key) or 0)

    return Usage(
        input_tokens=count("input_tokens"),
        output_tokens=count("output_tokens"),
        cache_read_tokens=count("cache_read_input_tokens"),
        cache_write_tokens=count("cache_creation_input_tokens"),
    )


def _moment(text: str) -> int | None:
    try:
        return seconds_to_ms(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        return None


def _cleaned(value: Json) -> Json:
    """`value` with text that can be encoded and numbers that are finite and of a sane size."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {_clean(key): _cleaned(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    if isinstance(value, int) and abs(value) > 2**63:
        raise ValueError("a number out of all size")
    return value


def _clean(text: str) -> str:
    """NUL and lone surrogates become U+FFFD: they cannot be stored or sent everywhere."""
    return _UNWRITABLE.sub("\ufffd", text)
