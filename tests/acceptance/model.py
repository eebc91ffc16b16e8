"""The scripted model of a whole session: one script for its workers, one for its controllers.

A turn is one of `tests/fakes/messages_stub.py`. Where a part stands in its script is read from the
request alone (the answers that it holds), so that a restarted part begins at the start. In every
text `{ticket}`, `{session}` and `{output}` (what the last tool printed) are filled in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.messages_stub import ANSWER_TOOL, Scenario, Stub, Turn, serve

Kind = Literal["work", "check"]


@dataclass
class Model:
    """What the parts are answered, and what they asked."""

    stub: Stub
    scripts: dict[Kind, list[list[Turn]]] = field(default_factory=dict)
    begun: dict[Kind, list[str]] = field(default_factory=lambda: {"work": [], "check": []})
    """Agent sessions in the order of their first request."""

    @property
    def url(self) -> str:
        return self.stub.url("any")

    def plays(self, kind: Kind, *scripts: list[Turn]) -> None:
        """The first agent session of this kind plays the first script, and so on; the last one is
        played by all that follow."""
        self.scripts[kind] = list(scripts)

    def answer(self, request: Turn) -> Turn:
        kind = kind_of(request)
        agent = str(request.get("metadata"))
        if agent not in self.begun[kind]:
            self.begun[kind].append(agent)
        scripts = self.scripts[kind]
        script = scripts[min(self.begun[kind].index(agent), len(scripts) - 1)]
        given = sum(each["role"] == "assistant" for each in request["messages"])
        turn: Turn = filled(script[min(given, len(script) - 1)], values_of(request))
        return turn

    def requests(self, kind: Kind) -> list[Turn]:
        """What parts of this kind asked."""
        asked = [each["request"] for each in self.stub.requests if each["method"] == "POST"]
        return [each for each in asked if kind_of(each) == kind]

    def prompt(self, kind: Kind) -> str:
        """What the first part of this kind was told at its start, and nothing later."""
        return texts(self.requests(kind)[0]["messages"][:1])


class Directed(Scenario):
    """A scenario whose turns depend on who asks."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def answer(self, request: Turn) -> Turn:
        return self._model.answer(request)


@contextmanager
def serve_model() -> Iterator[Model]:
    """The server, on loopback for as long as the block lasts."""
    with serve() as stub:
        model = Model(stub)
        directed = Directed(model)
        stub.scenario = lambda name: directed  # type: ignore[method-assign]
        yield model


def answer_schema(request: Turn) -> Turn:
    """The schema of the structured answer that the request asks for."""
    for tool in request.get("tools", []):
        if tool["name"] == ANSWER_TOOL:
            found: Turn = tool["input_schema"]["properties"]
            return found
    return {}


def kind_of(request: Turn) -> Kind:
    return "check" if "findings" in answer_schema(request) else "work"


def texts(messages: list[Turn]) -> str:
    """Every text in these messages, tool results too."""
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            for each in value:
                look(each)
        elif isinstance(value, dict):
            look(value.get("text"))
            look(value.get("content"))

    look(messages)
    return "\n".join(found)


def values_of(request: Turn) -> dict[str, str]:
    schema = answer_schema(request)
    outputs = [
        texts([block])
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    return {
        "ticket": schema.get("ticket", {}).get("const", ""),
        "session": schema.get("session", {}).get("const", ""),
        "output": outputs[-1] if outputs else "",
    }


def filled(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [filled(each, values) for each in value]
    if isinstance(value, dict):
        return {key: filled(each, values) for key, each in value.items()}
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda word: values.get(word[1], word[0]), value)
    return value


# --- turns ---------------------------------------------------------------------------------------


def bash(command: str, **more: Any) -> Turn:
    given = {"command": command, "description": "a step of the work"}
    return {"tool": "Bash", "input": given, **more}


def waiting(flag: Any) -> str:
    """A command that says that it runs, and then runs until it is ended."""
    return f"touch {flag}; tail -f {flag}"


def report(**changes: Any) -> Turn:
    """The end of a worker: it made `total.txt` and shows it."""
    whole = {
        "ticket": "{ticket}",
        "session": "{session}",
        "result": "The total of all prices is in a file.",
        "complete": True,
        "test": ["Open total.txt in the shop's folder.", "Read 370."],
        "done": ["wrote total.txt"],
        "verified": [
            {"claim": "the total is 370", "command": "cat total.txt", "output": "370"},
        ],
        "open": [],
        "issues": [],
        "questions": [],
        "running": [],
        "refused": [],
        "decided": [],
    }
    return {"structured": {**whole, **changes}}


def verdict(word: str = "pass", *findings: tuple[str, str, str], summary: str = "Held.") -> Turn:
    """The end of a controller. A finding: claim, status, check."""
    seen = findings or (("the total is 370", "ok", "cat total.txt printed 370"),)
    return {
        "structured": {
            "ticket": "{ticket}",
            "session": "{session}",
            "verdict": word,
            "findings": [
                {"claim": claim, "about": "verified", "status": status, "check": check}
                for claim, status, check in seen
            ],
            "questions": [],
            "summary": summary,
        }
    }


def as_text(value: Any) -> str:
    """A value as it went over the wire, to look for what must not be in it."""
    return json.dumps(value, ensure_ascii=False)
