"""The API holds what its own description promises, whatever it is asked (Schemathesis).

The seed is fixed, so that a failure comes again; it ends in a `curl` command that repeats it.
`COLONY_FUZZ_EXAMPLES` asks for more than CI does, `COLONY_FUZZ_SEED` for others.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from fastapi import APIRouter
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks
from starlette.responses import JSONResponse, PlainTextResponse, Response

import colony.serve.app
from tests.serve.api_routes import NAME, OPEN, READS, WRITES, Route, Site, furnish, site

EXAMPLES = int(os.environ.get("COLONY_FUZZ_EXAMPLES", "12"))
SEED = int(os.environ.get("COLONY_FUZZ_SEED", "20260101"))
HELD_TO = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"
THERE = {"project": "shop", "number": 1, "user": "mia", "session": NAME, "host": "h1"}
"""Names that lead somewhere: half of all requests use them."""
ROUTES = (*READS, *WRITES, *OPEN)


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Site]:
    with site() as served:
        furnish(served.store)
        for name in ("anna", "nora", "colony"):
            served.token(name)
        yield served


@pytest.fixture(scope="module")
def schema(fuzzed: Site) -> Any:
    return schemathesis.openapi.from_url(f"{fuzzed.url}/openapi.json")


def fuzz(
    served: Site, operation: Any, mode: GenerationMode, body: dict[str, Any] | None = None
) -> list[int]:
    """Ask an operation by its description; the statuses of the answers. `body`: keys that half of
    the bodies have so, since chance alone finds no ticket."""
    statuses: list[int] = []
    session = requests.Session()
    session.trust_env = False
    tokens = [served.token(name) for name in ("anna", "nora", "colony")]
    known = {
        each.name: THERE[each.name] for each in operation.path_parameters if each.name in THERE
    }

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(operation.as_strategy(generation_mode=mode), st.sampled_from(tokens), st.booleans())
    def ask(case: Any, token: str, there: bool) -> None:
        if there:
            case.path_parameters = {**(case.path_parameters or {}), **known}
            if body and isinstance(case.body, dict) and mode is GenerationMode.POSITIVE:
                case.body = case.body | body
        if isinstance(case.query, dict):
            case.query.pop("wait", None)
        headers = {"Authorization": f"Bearer {token}"}
        answer = case.call(headers=headers, session=session, timeout=60)
        statuses.append(answer.status_code)
        case.validate_response(answer, checks=HELD_TO, headers=headers)

    with session:
        ask()
    return statuses


CASES = [(each, mode) for each in ROUTES for mode in GenerationMode
         # Nothing that one could say to it is wrong.
         if each not in OPEN or mode is GenerationMode.POSITIVE]  # fmt: skip


@pytest.mark.parametrize(
    ("route", "mode"), CASES, ids=lambda each: getattr(each, "value", None) or str(each)
)
def test_an_operation_does_as_described(
    fuzzed: Site, schema: Any, route: Route, mode: GenerationMode
) -> None:
    statuses = fuzz(fuzzed, schema[route.template][route.method], mode, route.body)
    assert statuses
    assert max(statuses) < 500
    if mode is GenerationMode.POSITIVE and route.method == "GET":
        assert 200 in statuses
    assert fuzzed.store.bugs == []


def test_everything_that_is_described_is_fuzzed(schema: Any) -> None:
    described = {
        f"{each.ok().method.upper()} {each.ok().path}" for each in schema.get_all_operations()
    }
    assert described == {str(each) for each in ROUTES}


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("who", "part"),
    [("anna", ["--exclude-method", "PUT"]), ("colony", ["--include-method", "PUT"])],
)
def test_every_border_of_the_description_holds(
    fuzzed: Site, tmp_path: Path, who: str, part: list[str]
) -> None:
    """Examples and the borders of each value, with every check that there is. That valid ones are
    taken is not asked: shape is the description's to say, whether a value may stand the store's."""
    service = fuzzed.store.service
    before = len(service.changes(0).events), service.hosts(), service.sessions()
    done = subprocess.run(
        [
            str(SCHEMATHESIS), "run", f"{fuzzed.url}/openapi.json",
            "--header", f"Authorization: Bearer {fuzzed.token(who)}",
            "--checks", "all", "--exclude-checks", "positive_data_acceptance",
            "--phases", "examples,coverage", "--generation-deterministic", "--no-color", *part,
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    assert fuzzed.store.bugs == []
    # Some of what was asked was done: not everything ended at the door.
    assert before != (len(service.changes(0).events), service.hosts(), service.sessions())


# --- that it can fail ----------------------------------------------------------------------


class Answer(BaseModel):
    number: int


def broken(way: str, number: int) -> Response:
    match way:
        case "a status that is not described":
            return JSONResponse({"number": 1}, 418 if number else 200)
        case "another kind of content":
            return PlainTextResponse("1")
        case "another shape":
            return JSONResponse({"number": "one"})
        case "an error of the server":
            raise ValueError(number)
        case _:
            return JSONResponse({"number": number})


WAYS = {
    "a status that is not described": "UndefinedStatusCode",
    "another kind of content": "UndefinedContentType",
    "another shape": "JsonSchemaError",
    "an error of the server": "ServerError",
}


@pytest.mark.parametrize("way", [*WAYS, "nothing"])
def test_a_route_that_breaks_its_promise_is_found(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    router = APIRouter()

    @router.get("/api/broken", responses={200: {"model": Answer}})
    def answer(number: int = 0) -> Response:
        return broken(way, number)

    routers = (*colony.serve.app.ROUTERS, router)
    monkeypatch.setattr(colony.serve.app, "ROUTERS", routers)
    # The app is made once for all desks: not the one of the other tests.
    monkeypatch.setattr(colony.serve.app, "_api", colony.serve.app._api.__wrapped__)
    with site() as served:
        schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
        operation = schema["/api/broken"]["GET"]
        if way == "nothing":
            assert set(fuzz(served, operation, GenerationMode.POSITIVE)) == {200}
            return
        with pytest.raises(FailureGroup) as found:
            fuzz(served, operation, GenerationMode.POSITIVE)
        assert WAYS[way] in {type(each).__name__ for each in found.value.exceptions}
