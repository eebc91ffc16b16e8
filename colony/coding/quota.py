"""How full the account's windows are, as Claude Code's own `/usage` tells it.

The call asks no model and costs nothing. What it prints is hostile all the same: whatever cannot
be a reading is none, and the answer says why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Final

from colony.coding import fields
from colony.coding.fields import SYNTHETIC, Object
from colony.coding.resets import iso_to_ms, until_ms
from colony.core.lines import clip
from colony.core.strict_json import Problems, load_json
from colony.core.turn import COST_MAX_USD, QuotaAnswer, Reading, share_of

USAGE_FLAGS: Final = (
    "-p", "/usage", "--output-format", "json", "--verbose", "--model", "haiku",
    "--max-turns", "1", "--permission-mode", "plan", "--permission-prompts", "none",
    "--strict-mcp-config", "--setting-sources", "user",
)  # fmt: skip
"""Should a version take `/usage` for a prompt, one turn of the cheapest model is what it costs."""
ROWS_MAX: Final = 64
"""Rows of one answer that are looked at; the program sends no more."""

NO_ANSWER: Final = "the quota call printed no answer"
NOT_FETCHED: Final = "the quota could not be fetched"
NOT_READ: Final = "no window of the quota can be read"
NO_ROWS: Final = "this login tells no quota"

_ROW: Final = re.compile(
    r"^ *Current (session|week(?: \(([^()\n]{1,60})\))?): +(\d{1,3}(?:\.\d{1,9})?)% used\b(.*)$",
    re.MULTILINE,
)


def read_usage(output: str, zone: tzinfo) -> QuotaAnswer:
    """The JSON list of messages, or the one result, that the call printed. Never raises.

    The typed rows are taken first, else the lines `Current session: 42% used` of a text that the
    program itself wrote. `zone` is meant by a reset time that names none.
    """
    parsed = load_json(output.strip())
    if isinstance(parsed, Problems):
        return QuotaAnswer(problem=NO_ANSWER)
    listed = parsed if isinstance(parsed, list) else [parsed]
    messages = [each for each in listed if isinstance(each, dict)]
    cost = max((_cost(each) for each in messages), default=0.0)
    readings = tuple(_typed(messages)) or tuple(_written(messages, zone))
    return QuotaAnswer(readings, cost, "" if readings else _problem(messages))


def _cost(message: Object) -> float:
    cost = fields.number(message, "total_cost_usd")
    return cost if cost is not None and 0 <= cost <= COST_MAX_USD else 0.0


def _typed(messages: Sequence[Object]) -> Iterator[Reading]:
    for message in messages:
        rows = _limits(message).get("limits")
        for row in rows[:ROWS_MAX] if isinstance(rows, list) else []:
            used = share_of(fields.number(row, "percent"), 100) if isinstance(row, dict) else None
            if isinstance(row, dict) and used is not None and (kind := fields.word(row, "kind")):
                resets_ms = iso_to_ms(fields.text(row, "resets_at"))
                yield Reading(kind, used, resets_ms, fields.word(row, "severity"))


def _limits(message: Object) -> Object:
    return fields.inner(fields.inner(message, "usage_report"), "rate_limits")


def _written(messages: Sequence[Object], zone: tzinfo) -> Iterator[Reading]:
    """The rows of the first text that has any: message and result say the same."""
    at_ms = next((at for at in map(_moment, messages) if at is not None), None)
    texts = (_own_text(each) for each in messages)
    rows = next((rows for text in texts if (rows := list(_ROW.finditer(text)))), [])
    for row in rows[:ROWS_MAX]:
        used = share_of(float(row[3]), 100)
        if used is not None:
            resets_ms = until_ms(row[4], at_ms, zone) if at_ms is not None else None
            yield Reading(_kind(row), used, resets_ms)


def _moment(message: Object) -> int | None:
    return iso_to_ms(fields.text(message, "timestamp"))


def _kind(row: re.Match[str]) -> str:
    if row[1] == "session":
        return "session"
    return "weekly_all" if row[2] in (None, "all models") else "weekly_scoped"


def _own_text(message: Object) -> str:
    """What the program wrote itself: its synthetic message, or a result for which no model ran."""
    match fields.text(message, "type"):
        case "assistant" if fields.text(fields.inner(message, "message"), "model") == SYNTHETIC:
            return fields.blocks_text(message)
        case "result" if fields.whole(message, "num_turns") == 0:
            return fields.text(message, "result")
        case _:
            return ""


def _problem(messages: Sequence[Object]) -> str:
    results = [each for each in messages if fields.text(each, "type") == "result"]
    if not results:
        return NO_ANSWER
    if results[-1].get("is_error") is True:
        said = clip(fields.text(results[-1], "result"), fields.WORD_MAX)
        return f"the quota call failed: {said}" if said else "the quota call failed"
    if any(_limits(each) for each in messages):
        return NOT_READ
    reported = any(fields.inner(each, "usage_report") for each in messages)
    return NOT_FETCHED if reported else NO_ROWS
