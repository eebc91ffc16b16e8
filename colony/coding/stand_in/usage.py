"""What the stand-in prints when it is asked for its account's quota: Claude Code's own messages."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from colony.coding.stand_in.script import WINDOWS, Object

NAME = "stand-in"


def print_usage(script: Object) -> NoReturn:
    """The list of messages of one quota call; ends the process as Claude Code would."""
    usage = script.get("usage")
    told = usage or {}
    failed = str(told.get("error", ""))
    now = datetime.fromtimestamp(time.time(), UTC)
    rows = [row(kind, told[name], told, now) for name, kind in WINDOWS.items() if name in told]
    report = {"session": {}, "rate_limits": None if usage is None else {"limits": rows}}
    text = failed or f"The quota of a scripted stand-in: {len(rows)} windows"
    said = {"model": "<synthetic>", "content": [{"type": "text", "text": text}]}
    messages: list[Object] = [
        {"type": "system", "subtype": "init", "model": NAME, "claude_code_version": NAME},
        {"type": "assistant", "message": said, "timestamp": now.isoformat()},
        {
            "type": "result",
            "subtype": "success",
            "is_error": bool(failed),
            "num_turns": 0,
            "total_cost_usd": told.get("cost", 0),
            "result": text,
        },
    ]
    if not failed:
        messages[1]["usage_report"] = report
    session = os.urandom(8).hex()
    print(json.dumps([{**each, "session_id": session} for each in messages]))
    raise SystemExit(1 if failed else 0)


def row(kind: str, used: float, told: Object, now: datetime) -> Object:
    seconds = told.get("reset_in", 3600)
    resets = None if seconds is None else (now + timedelta(seconds=seconds)).isoformat()
    severity = "critical" if used >= 1 else "normal"
    return {
        "kind": kind,
        "percent": round(used * 100, 6),
        "resets_at": resets,
        "severity": severity,
    }
