"""One run of the stand-in: its agent session on disk, its turns, its stream of events."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final, NoReturn

from colony.coding.stand_in.script import Object, actions_of, kind_of, neutral

NAME: Final = "stand-in"
TOKENS: Final = {"input_tokens": 100, "output_tokens": 20}
"""Made up, the same each turn."""


def fail(line: str) -> NoReturn:
    """A start-up error, as Claude Code reports one."""
    print(line, file=sys.stderr)
    raise SystemExit(1)


class Run:
    """One run. `turns`, cost and tokens are this run's; `kept` is the agent session's file."""

    def __init__(self, options: Object, script: Object, prompt: str) -> None:
        self.options = options
        self.prompt = prompt
        self.schema: Object = json.loads(options.get("--json-schema", "{}"))
        self.session_id = options.get("--resume") or options.get("--session-id", "")
        self.kept = self._open(Path(options.get("--stand-in-home") or ".") / NAME)
        self.script = script
        self.cwd = str(Path.cwd())
        self.turns = 0
        self.denials: list[Object] = []
        self.files: list[str] = []
        self.output = ""
        self.child: subprocess.Popen[bytes] | None = None
        self.starting = False
        self.asked = False
        """A SIGTERM came while a command was being started."""
        self._learn()

    def _open(self, folder: Path) -> Path:
        """The file of this agent session, by the same rules as Claude Code's."""
        path = folder / f"{Path(self.session_id).name}.json"
        if "--resume" in self.options:
            if not path.is_file():
                fail(f"No conversation found with session ID: {self.session_id}")
            self.state: Object = json.loads(path.read_text(encoding="utf-8"))
            return path
        folder.mkdir(parents=True, exist_ok=True)
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            fail(f"Error: Session ID {self.session_id} is already in use.")
        self.state = {"cost": 0.0, "turns": 0, "ticket": "", "session": ""}
        return path

    def _learn(self) -> None:
        """Ticket and session: as the prompt names them, else as they were known."""
        ticket = re.search(r"(?i)\bticket\W{1,6}([a-z0-9][a-z0-9.-]*#\d+)", self.prompt)
        ticket = ticket or re.search(r"\b([a-z0-9][a-z0-9.-]*#\d+)", self.prompt)
        session = re.search(r"\bs-\d{8}T\d{4}-[0-9a-f]{6}\b", self.prompt)
        if ticket and not self.state["ticket"]:
            self.state["ticket"] = ticket[1]
        if not self.state["session"]:
            found = session[0] if session else ""
            self.state["session"] = os.environ.get("COLONY_SESSION") or found
        self._save()

    def _save(self) -> None:
        temporary = self.kept.with_suffix(".new")
        temporary.write_text(json.dumps(self.state), encoding="utf-8")
        temporary.replace(self.kept)

    # --- the run ---------------------------------------------------------------------------

    def actions(self) -> list[Object]:
        kind = kind_of(self.schema, self.prompt, "--resume" in self.options)
        return actions_of(self.script, kind, self.state["ticket"])

    def turn(self, blocks: list[Object]) -> None:
        """One answer of the model that is not there."""
        limit = int(self.options.get("--max-turns", "0"))
        if limit and self.turns >= limit:
            self.end(
                {
                    "subtype": "error_max_turns",
                    "is_error": True,
                    "terminal_reason": "max_turns",
                    "errors": [f"Reached maximum number of turns ({limit})"],
                    "num_turns": limit + 1,
                },
                1,
            )
        self.turns += 1
        self.state["turns"] += 1
        self.state["cost"] += float(self.script.get("cost", 0.01))
        self._save()
        self.message({"model": NAME, "usage": TOKENS, "content": blocks})

    def call(self, tool: str, given: Object) -> str:
        """A tool call as the stream shows it; gives its id."""
        self.turn(
            [{"type": "tool_use", "id": (made := self.fresh()), "name": tool, "input": given}]
        )
        return made

    def returned(self, call: str, text: str, failed: bool = False) -> None:
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
        self.emit({"type": "user", "message": {"role": "user", "content": [block]}})

    def shell(self, command: str) -> str:
        """Run it to its end. Its output goes to memory: a child it leaves behind holds no pipe."""
        call = self.call("Bash", {"command": command})
        out = os.memfd_create("output")
        self.starting = True
        self.child = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
        self.starting = False
        if self.asked:
            self.terminated()
        code = self.child.wait()
        self.child = None
        os.lseek(out, 0, os.SEEK_SET)
        with os.fdopen(out, "rb") as file:
            text = file.read().decode("utf-8", "replace")
        shown = text if code == 0 else f"Exit code {code}\n{text}"
        self.returned(call, shown, failed=code != 0)
        return text

    def terminated(self, *_: object) -> None:
        """SIGTERM: the running command dies, no result is printed, the session can be resumed."""
        if self.starting:
            # The command runs already, and is not known yet: it would outlive this process.
            self.asked = True
            return
        if self.child is not None:
            os.killpg(self.child.pid, signal.SIGKILL)
        os._exit(143)

    # --- the stream ------------------------------------------------------------------------

    def begin(self) -> None:
        mode = self.script.get("permission_mode") or self.options.get(
            "--permission-mode", "default"
        )
        self.emit(
            {
                "type": "system",
                "subtype": "init",
                "cwd": self.cwd,
                "model": NAME,
                "permissionMode": mode,
                "apiKeySource": "none",
                "claude_code_version": NAME,
                "tools": ["Bash", "StructuredOutput", "Write"],
                "mcp_servers": [],
            }
        )

    def emit(self, event: Object) -> None:
        whole = {**event, "session_id": self.session_id, "uuid": self.fresh()}
        sys.stdout.write(json.dumps(whole) + "\n")
        sys.stdout.flush()

    def message(self, message: Object, **more: object) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        full = {"id": f"msg_{self.fresh()}", "type": "message", "role": "assistant", **message}
        self.emit({"type": "assistant", "message": full, "timestamp": stamp, **more})

    def fresh(self) -> str:
        return os.urandom(8).hex()

    def fail_with(self, text: str, error: Object) -> NoReturn:
        """End as Claude Code does on an error of the provider."""
        content = [{"type": "text", "text": text}]
        self.message(
            {"model": "<synthetic>", "content": content}, is_api_error_message=True, **error
        )
        self.end({"is_error": True, "terminal_reason": "api_error", "result": text, **error}, 1)

    def end(self, fields: Object, code: int) -> NoReturn:
        cost, turns = self.state["cost"], self.state["turns"]
        usage = {name: count * self.turns for name, count in TOKENS.items()}
        model = {"inputTokens": 100 * turns, "outputTokens": 20 * turns, "costUSD": cost}
        result = {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "num_turns": self.turns,
            "terminal_reason": "completed",
            "stop_reason": "end_turn",
            "api_error_status": None,
            "total_cost_usd": cost,
            "usage": usage,
            "modelUsage": {NAME: model},
            "permission_denials": self.denials,
        }
        self.emit({**result, **fields})
        raise SystemExit(code)

    # --- filling in ------------------------------------------------------------------------

    def fill(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        if isinstance(value, dict):
            return {key: self.fill(each) for key, each in value.items()}
        if not isinstance(value, str):
            return value
        values = {
            "ticket": self.state["ticket"],
            "session": self.state["session"],
            "name": self.state["ticket"].replace("#", "-"),
            "cwd": self.cwd,
            "files": ", ".join(self.files),
            "output": self.output,
        }
        return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), value)

    def answer(self, given: Object, complete: bool) -> NoReturn:
        answer = given
        if complete:
            named_ones = {"ticket": self.state["ticket"], "session": self.state["session"]}
            properties = self.schema.get("properties", {})
            for key in self.schema.get("required", []):
                answer.setdefault(key, named_ones.get(key, neutral(properties.get(key, {}))))
        self.call("StructuredOutput", answer)
        self.end({"structured_output": answer, "result": json.dumps(answer)}, 0)
