"""What a script may say: its actions, the runs it speaks of, and what is played without one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

Object = dict[str, Any]

KINDS: Final = ("work", "resume", "check", "finalize", "fix")
ACTIONS: Final = frozenset(
    {
        "say", "write", "run", "daemon", "deny", "answer", "exactly", "recheck", "quota",
        "limit", "refused", "away", "error", "result", "exit", "event", "raw", "sleep", "hang",
        "ignore_term", "when", "repeat",
    }
)  # fmt: skip
NOTES: Final = frozenset(
    {"text", "detail", "reset_in", "warn", "status", "word", "then", "otherwise", "actions"}
)
"""Keys that stand beside an action's own."""

WINDOWS: Final = {"session": "session", "week": "weekly_all"}
"""Windows of a script's `usage`, and what the quota call's rows call them."""

SMALL_JOB: Final[list[Object]] = [
    {"say": "A scripted stand-in works on {ticket}: no model is asked."},
    {"write": "stand-in-{name}.md", "text": "# {ticket}\n\nWritten in session {session}.\n"},
    {"run": "cat stand-in-{name}.md"},
    {
        "answer": {
            "result": "Wrote stand-in-{name}.md (by a scripted stand-in, not by a model).",
            "complete": True,
            "test": ["Open stand-in-{name}.md.", "Read that it names {ticket}."],
            "done": ["wrote stand-in-{name}.md"],
            "verified": [
                {
                    "claim": "the note names the ticket and the session",
                    "command": "cat stand-in-{name}.md",
                    "output": "{output}",
                }
            ],
        }
    },
]
CUT_SHORT: Final[Object] = {
    "result": "Stopped before the end (a scripted stand-in, not a model).",
    "complete": False,
    "test": ["Nothing to try yet.", "Wait for the next attempt."],
    "open": ["everything that was not begun"],
}
DEFAULTS: Final[dict[str, list[Object]]] = {
    "work": SMALL_JOB,
    "check": [{"recheck": True}],
    "finalize": [{"answer": CUT_SHORT}],
    "fix": [{"answer": CUT_SHORT}],
}


def load(path: str | None) -> Object:
    """The script; an empty one without a path.

    Raises OSError, ValueError, AttributeError or TypeError for what is none.
    """
    if not path:
        return {}
    try:
        script: Object = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    for name in ("account", "login"):
        if not isinstance(script.get(name, ""), str):
            raise ValueError(f"{path}: {name}: not a text")
    check_usage(script.get("usage"), f"{path}: usage")
    for part in (script, *script.get("tickets", {}).values()):
        for kind in KINDS:
            check(part.get(kind, []), f"{path}: {kind}")
    return script


def check(actions: list[Object], where: str) -> None:
    for at, action in enumerate(actions):
        if not action_of(action):
            known = ", ".join(sorted(ACTIONS))
            raise ValueError(f"{where}[{at}]: not exactly one known action (known: {known})")
        for inner in ("then", "otherwise", "actions"):
            check(action.get(inner, []), f"{where}[{at}].{inner}")


def check_usage(usage: Any, where: str) -> None:
    """None is a `usage` too: the answer without rows."""
    for name, value in (usage or {}).items():
        if name not in (*WINDOWS, "reset_in", "cost", "error"):
            raise ValueError(f"{where}: unknown key {name!r}")
        if name in WINDOWS and not (isinstance(value, int | float) and 0 <= value <= 1):
            raise ValueError(f"{where}.{name}: not a share from 0 to 1")


def action_of(action: Object) -> str:
    """The name of an action, empty where there is not exactly one known. `exit` beside `result`
    is that result's exit code."""
    found = [key for key in action if key not in NOTES]
    if "result" in found and "exit" in found:
        found.remove("exit")
    return found[0] if len(found) == 1 and found[0] in ACTIONS else ""


def kind_of(schema: Object, prompt: str, resumed: bool) -> str:
    """Which run this is: the schema tells a check, the prompt a fix or a finalize step."""
    if "findings" in schema.get("properties", {}):
        return "check"
    if "FIX YOUR REPORT" in prompt:
        return "fix"
    if re.search(r"(?m)^colony-finalize:", prompt):
        return "finalize"
    return "resume" if resumed else "work"


def actions_of(script: Object, kind: str, ticket: str) -> list[Object]:
    """The ticket's own list, else the script's, else the built-in one."""
    own = script.get("tickets", {}).get(ticket, {})
    for name in (kind, "work") if kind == "resume" else (kind,):
        for part in (own, script, DEFAULTS):
            if name in part:
                found: list[Object] = part[name]
                return found
    return []


def neutral(schema: Object) -> Any:
    """A value that the schema takes and that claims nothing."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "array":
        return [neutral(schema.get("items", {}))] * int(schema.get("minItems", 0))
    if kind == "object":
        properties = schema.get("properties", {})
        return {key: neutral(properties.get(key, {})) for key in schema.get("required", [])}
    return {"boolean": False, "integer": 0, "number": 0}.get(str(kind), "none")


def report_in(prompt: str) -> Object:
    """The first JSON object of the prompt that looks like a report; empty where there is none."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"\{", prompt):
        try:
            value, _ = decoder.raw_decode(prompt, found.start())
        except (ValueError, RecursionError):
            continue
        if (
            isinstance(value, dict)
            and "result" in value
            and isinstance(value.get("verified"), list)
        ):
            return value
    return {}
