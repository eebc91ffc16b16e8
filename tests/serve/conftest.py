"""A served tracker with its users, asked over a real socket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from colony.serve.desk import Desk
from tests.fakes.served import Store, loop, on_file, serving

ANSWERS = "urn:api"


@dataclass
class Api:
    """Asks a served tracker. `anna` owns it, `colony` is a machine; each answer is held against
    the API's own description."""

    url: str
    store: Store
    stack: ExitStack
    tokens: dict[str, str] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=dict)

    def token(self, name: str) -> str:
        if name not in self.tokens:
            kind = {"anna": {"owner": True}, "colony": {"machine": True}}.get(name, {})
            self.tokens[name] = self.store.token(name, **kind)
        return self.tokens[name]

    def client(self, name: str | None = "anna") -> httpx.Client:
        """A client with this user's token; None: without any."""
        headers = {} if name is None else {"authorization": f"Bearer {self.token(name)}"}
        client = httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)
        client.event_hooks["response"] = [self._as_described]
        return self.stack.enter_context(client)

    @property
    def desk(self) -> Desk:
        return self.store.desks[-1]

    def until_waiting(self, number: int) -> None:
        """Return once so many requests wait for an event."""
        self.until(lambda: self.desk.bell.waiting == number)

    def until(self, holds: Callable[[], bool]) -> None:
        """Return once it holds; half a minute is too long."""
        for _ in range(3000):
            if holds():
                return
            time.sleep(0.01)
        raise AssertionError(f"never: {self.desk.bell.waiting} requests wait")

    def busy_threads(self) -> int:
        """Threads of the server's pool that are answering a request."""

        async def busy() -> int:
            return int(current_default_thread_limiter().borrowed_tokens)

        return asyncio.run_coroutine_threadsafe(busy(), loop()).result(10)

    def _as_described(self, answer: httpx.Response) -> None:
        """Each answer's status and body are those that the description promises."""
        if not self.described:
            got = httpx.get(f"{self.url}/openapi.json", trust_env=False)
            self.described.update(got.json())
        answer.read()
        operation = operation_of(self.described, answer.request)
        if operation is None:
            return
        told = operation["responses"].get(str(answer.status_code))
        assert told is not None, f"{answer.request.url} answers {answer.status_code}: {answer.text}"
        schema = told.get("content", {}).get("application/json", {}).get("schema")
        if schema and answer.headers["content-type"] == "application/json":
            validator_of(self.described, schema).validate(answer.json())


def operation_of(described: dict[str, Any], request: httpx.Request) -> dict[str, Any] | None:
    parts = request.url.path.split("/")
    for path, operations in described["paths"].items():
        names = path.split("/")
        alike = len(names) == len(parts) and all(
            name.startswith("{") or name == part for name, part in zip(names, parts, strict=True)
        )
        if alike and request.method.lower() in operations:
            return dict(operations[request.method.lower()])
    return None


def validator_of(described: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    whole = DRAFT202012.create_resource(described)
    registry: Any = Registry().with_resource(ANSWERS, whole)
    if "$ref" in schema:
        schema = {"$ref": f"{ANSWERS}{schema['$ref']}"}
    return Draft202012Validator(schema, registry=registry)


Serve = Callable[..., Api]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serves a tracker in this test's folder with these settings."""
    with ExitStack() as stack:

        def serve(store: Store | None = None, **settings: Any) -> Api:
            if store is None:
                store = on_file(tmp_path)
                stack.callback(store.close)
            url = stack.enter_context(serving(store, **settings))
            return Api(url, store, stack)

        yield serve


@pytest.fixture
def api(serve: Serve) -> Iterator[Api]:
    """A served tracker that reports no bug while the test runs."""
    served = serve(public_url="https://tracker.example")
    yield served
    assert served.store.bugs == []


@pytest.fixture
def anna(api: Api) -> httpx.Client:
    return api.client("anna")


@pytest.fixture
def colony(api: Api, anna: httpx.Client) -> httpx.Client:
    api.token("anna")
    return api.client("colony")


@pytest.fixture
def shop(anna: httpx.Client) -> httpx.Client:
    """anna's client, where `shop#1` and `shop#2` are open."""
    for subject in ("A cart", "A till"):
        made = anna.post("/api/tickets", json={"project": "shop", "subject": subject})
        assert made.status_code == 201
    return anna
