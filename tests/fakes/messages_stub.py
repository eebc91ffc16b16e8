"""A model server that plays scripts: the Messages API on loopback, for the real coding agent.

Every request to `/v1/messages` gets the next turn of its scenario, whatever it asks:

    with serve() as stub:
        stub.add("hello", [{"text": "hi"}])
        … run the agent with ANTHROPIC_BASE_URL=stub.url("hello") …
        assert stub.requests[0]["request"]["model"] == "…"

The last turn of a scenario is played for ever. `NAME~RUN` in the address plays NAME from its
start with a place of its own. A turn has exactly one of these keys:

    text: "hello"                 a plain answer
    tool: "Bash", input: {…}      a call of one tool
    tools: [["Bash", {…}], …]     calls of several
    structured: {…}               the structured answer: a call of the tool for it where the request
                                  offers that tool, JSON text where it does not
    status: 529                   an HTTP error, with `error` (its type), `message`, `headers`
    limit: "five_hour"            a 429 of a subscription's usage limit that ends in `reset_in`
                                  seconds (3600)
    hang: 30                      silence for so many seconds, then the connection is closed

and any of these: `say` (words before the calls), `thinking`, `stop_reason`, `usage` (over the
default counts), `headers` (`{now+3600}` becomes that Unix time), `delay` (seconds before the
answer), `pause` (seconds between stream events), `drop` (the stream breaks off half way), `times`
(how often the turn is played; "forever").

Side requests take no turn: those with `max_tokens` 1, and, where the scenario is an object
`{"turns": […], "side": "no-tools"}`, those without tools.

By hand: `python -m tests.fakes.messages_stub --scenarios DIR [--port N] [--log FILE]` plays
DIR/NAME.json. GET `/_stub/requests` lists what was asked, POST `/_stub/reset` starts all over.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Turn = dict[str, Any]

KINDS = {"text", "tool", "tools", "structured", "status", "limit", "hang"}
SIDE_ANSWER: Turn = {"text": "ok"}
COUNTS = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 20,
    "service_tier": "standard",
}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
SECRET_HEADERS = {"x-api-key", "authorization", "cookie"}
"""Kept out of the record, should somebody give a real key by mistake."""
ANSWER_TOOL = "StructuredOutput"


class Scenario:
    """A list of turns, and how far it was played."""

    def __init__(self, script: Any) -> None:
        whole = {"turns": script} if isinstance(script, list) else script
        self.turns: list[Turn] = whole["turns"]
        self.side = whole.get("side", "")
        for turn in self.turns:
            if len(KINDS & turn.keys()) != 1:
                raise ValueError(f"a turn must have exactly one kind of answer: {turn}")
        self._lock = threading.Lock()
        self._order = self._play()

    def _play(self) -> Iterator[Turn]:
        for turn in self.turns[:-1]:
            times = turn.get("times", 1)
            yield from itertools.repeat(turn) if times == "forever" else [turn] * times
        yield from itertools.repeat(self.turns[-1])

    def answer(self, request: Turn) -> Turn:
        if request.get("max_tokens") == 1:
            return SIDE_ANSWER
        if self.side == "no-tools" and not request.get("tools"):
            return SIDE_ANSWER
        with self._lock:
            return next(self._order)


class Stub:
    """The scenarios, the record of what was asked, the server's address."""

    def __init__(self, folder: Path | None = None, log: Path | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self.address = ""
        self._folder = folder
        self._log = log.open("a", encoding="utf-8") if log else None
        self._lock = threading.Lock()
        self._added: dict[str, Any] = {}
        self._playing: dict[str, Scenario] = {}
        self._ids = itertools.count(1)

    def url(self, scenario: str = "") -> str:
        return f"{self.address}/{scenario}".rstrip("/")

    def add(self, name: str, script: Any) -> str:
        """Give a scenario from the test; returns its address."""
        self._added[name] = script
        return self.url(name)

    def scenario(self, name: str) -> Scenario:
        with self._lock:
            if name not in self._playing:
                self._playing[name] = Scenario(self._script(name.split("~", maxsplit=1)[0]))
            return self._playing[name]

    def _script(self, name: str) -> Any:
        if name in self._added:
            return self._added[name]
        if self._folder is None:
            raise ValueError("no such scenario")
        return json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))

    def fresh(self, prefix: str) -> str:
        return f"{prefix}_stub{next(self._ids):06d}"

    def record(self, entry: dict[str, Any]) -> None:
        with self._lock:
            self.requests.append(entry)
            if self._log:
                self._log.write(json.dumps(entry) + "\n")
                self._log.flush()

    def reset(self) -> None:
        with self._lock:
            self.requests.clear()
            self._playing.clear()

    def close(self) -> None:
        if self._log:
            self._log.close()


def limit_headers(turn: Turn) -> dict[str, str]:
    """What comes with a 429 when a subscription's limit is reached."""
    window, wait = turn["limit"], turn.get("reset_in", 3600)
    short = {"five_hour": "5h", "seven_day": "7d"}.get(window, window)
    reset = f"{{now+{wait}}}"
    unified = {
        "status": "rejected",
        "reset": reset,
        "representative-claim": window,
        "fallback": "unavailable",
        "overage-status": "rejected",
        "overage-disabled-reason": "org_level_disabled",
        f"{short}-status": "rejected",
        f"{short}-reset": reset,
        f"{short}-utilization": "1.0",
    }
    headers = {f"anthropic-ratelimit-unified-{name}": value for name, value in unified.items()}
    return {**headers, "retry-after": str(wait)}


def with_times(value: str) -> str:
    return re.sub(r"\{now([+-]\d+)\}", lambda found: str(int(time.time()) + int(found[1])), value)


def blocks_of(turn: Turn, request: Turn, stub: Stub) -> tuple[list[Turn], str]:
    """The content of an answer, and why the model stopped."""
    blocks: list[Turn] = []
    if "thinking" in turn:
        blocks.append({"type": "thinking", "thinking": turn["thinking"], "signature": "stub"})
    if "say" in turn:
        blocks.append({"type": "text", "text": turn["say"]})
    calls = [list(call) for call in turn.get("tools", [])]
    if "tool" in turn:
        calls.append([turn["tool"], turn.get("input", {})])
    if "structured" in turn:
        if any(tool.get("name") == ANSWER_TOOL for tool in request.get("tools", [])):
            calls.append([ANSWER_TOOL, turn["structured"]])
        else:
            blocks.append({"type": "text", "text": json.dumps(turn["structured"])})
    if "text" in turn:
        blocks.append({"type": "text", "text": turn["text"]})
    for name, given in calls:
        blocks.append({"type": "tool_use", "id": stub.fresh("toolu"), "name": name, "input": given})
    return blocks, turn.get("stop_reason", "tool_use" if calls else "end_turn")


def deltas_of(block: Turn) -> tuple[Turn, list[Turn]]:
    """A block as a stream begins it, and what fills it."""
    match block["type"]:
        case "tool_use":
            text = json.dumps(block["input"])
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text}]
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case _:
            text, half = block["text"], len(block["text"]) // 2
            parts = [part for part in (text[:half], text[half:]) if part]
            return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in parts]


def events_of(message: Turn) -> Iterator[Turn]:
    """The server-sent events that carry a message."""
    begun = {**message["usage"], "output_tokens": 1}
    start = {**message, "content": [], "stop_reason": None, "usage": begun}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty, deltas = deltas_of(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: Stub

    def do_HEAD(self) -> None:
        self._record(None)
        self._json(200, {})

    def do_GET(self) -> None:
        if self.path == "/_stub/requests":
            self._json(200, self.stub.requests)
            return
        self._record(None)
        if "/v1/models" in self.path:
            self._json(200, {"data": [], "has_more": False})
        else:
            self._error(404, "no such page")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/_stub/reset":
            self.stub.reset()
            self._json(200, {})
            return
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            self._error(400, "the body is no JSON")
            return
        name, _, route = self.path.partition("?")[0].lstrip("/").partition("/v1/")
        if route == "messages":
            self._message(name, request)
            return
        self._record(request)
        if route == "messages/count_tokens":
            self._json(200, {"input_tokens": len(body) // 4})
        else:
            self._error(404, "no such page")

    def _message(self, name: str, request: Turn) -> None:
        try:
            turn = self.stub.scenario(name).answer(request)
        except (OSError, ValueError) as error:
            self._record(request)
            self._error(400, f"scenario {name!r}: {error}")
            return
        self._record(request, turn)
        time.sleep(turn.get("delay", 0))
        if "hang" in turn:
            time.sleep(turn["hang"])
            self.close_connection = True
        elif "limit" in turn:
            text = turn.get("message", "This request would exceed your rate limit.")
            self._error(429, text, headers={**limit_headers(turn), **turn.get("headers", {})})
        elif "status" in turn:
            text = turn.get("message", "The server says no.")
            self._error(turn["status"], text, turn.get("error"), turn.get("headers"))
        else:
            self._answer(turn, request)

    def _answer(self, turn: Turn, request: Turn) -> None:
        blocks, stop_reason = blocks_of(turn, request, self.stub)
        message = {
            "id": self.stub.fresh("msg"),
            "type": "message",
            "role": "assistant",
            "model": request.get("model", "stub"),
            "content": blocks,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {**COUNTS, **turn.get("usage", {})},
        }
        if not request.get("stream"):
            self._json(200, message, turn.get("headers"))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self._more_headers(turn.get("headers"))
        events = list(events_of(message))
        for event in events[: len(events) // 2] if turn.get("drop") else events:
            self._chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            time.sleep(turn.get("pause", 0))
        if turn.get("drop"):
            self.close_connection = True
        else:
            self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _error(
        self,
        status: int,
        message: str,
        kind: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        error = {"type": kind or ERROR_TYPES.get(status, "api_error"), "message": message}
        self._json(status, {"type": "error", "error": error}, headers)

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self._more_headers(headers)
        if self.command != "HEAD":
            self.wfile.write(data)

    def _more_headers(self, headers: dict[str, str] | None) -> None:
        self.send_header("request-id", self.stub.fresh("req"))
        for name, value in (headers or {}).items():
            self.send_header(name, with_times(str(value)))
        self.end_headers()

    def _record(self, request: Any, turn: Turn | None = None) -> None:
        headers = {
            name.lower(): "(kept out)" if name.lower() in SECRET_HEADERS else value
            for name, value in self.headers.items()
        }
        self.stub.record(
            {
                "time": round(time.time(), 3),
                "method": self.command,
                "path": self.path,
                "headers": headers,
                "request": request,
                "turn": turn,
            }
        )

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what was asked is in the record."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that was killed or gave up is part of many tests.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serve(port: int = 0, folder: Path | None = None, log: Path | None = None) -> Iterator[Stub]:
    """A server on loopback for as long as the block lasts; port 0 takes a free one."""
    stub = Stub(folder, log)
    server = Server(("127.0.0.1", port), type("Bound", (Handler,), {"stub": stub}))
    # A hanging turn must not hold up the end of the test.
    server.block_on_close = False
    stub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        stub.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="a model server that plays scripts")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--scenarios", type=Path, required=True, metavar="DIR")
    parser.add_argument("--log", type=Path, metavar="FILE")
    options = parser.parse_args()
    with serve(options.port, options.scenarios, options.log) as stub:
        print(f"listening on {stub.address}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
