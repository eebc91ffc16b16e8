"""What a request that is not answered gets: `{"error": one line, "code"}`, and nothing else.

No answer holds a stack, a path of this machine or a query: what the store says of its file goes to
whoever runs the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from colony.core.lines import clip
from colony.core.strict_json import step_into
from colony.errors import Busy, ColonyError, Forbidden, Invalid, NotFound, TooLarge
from colony.serve.desk import desk_of

RETRY_S: Final = 1
LINE_MAX: Final = 300

_STATUS: Final[dict[type[ColonyError], int]] = {
    NotFound: 404,
    Forbidden: 403,
    Invalid: 422,
    TooLarge: 413,
}
_UNUSABLE: Final = {
    "busy": "the tracker's database is busy or has no room left; nothing was written: try again",
    "unreachable": "the tracker's database cannot be used just now",
    "no_answer": "the write may or may not have been kept: try again with the same key",
    "damaged": "the tracker's database is damaged or newer than this server",
}
_SAID: Final = {
    "missing": "is missing",
    "extra_forbidden": "is no known key",
    "int_type": "must be a whole number",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "float_type": "must be a number",
    "string_pattern_mismatch": "is none of the words that it may be",
    "list_type": "must be a list",
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
    "dict_type": "must be an object",
}


class Refusal(HTTPException):
    """An answer that the API gives by itself, without asking the store."""

    def __init__(
        self, status: int, code: str, line: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, line, dict(headers or {}))
        self.code = code


def answer(
    status: int, code: str, line: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    body = {"error": clip(line, LINE_MAX), "code": code}
    return JSONResponse(body, status, headers=dict(headers or {}))


def handle_errors(app: FastAPI) -> None:
    """Every error that reaches the app's edge is answered in the one form."""
    app.add_exception_handler(ColonyError, _colony)
    app.add_exception_handler(RequestValidationError, _shape)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


async def _colony(request: Request, error: Exception) -> Response:
    assert isinstance(error, ColonyError)
    status = _STATUS.get(type(error))
    if status is not None:
        return answer(status, error.code, error.line)
    desk_of(request).world.report(error)
    code = Busy.code if isinstance(error, Busy) else error.code
    line = _UNUSABLE.get(code, _UNUSABLE["unreachable"])
    return answer(503, code, line, {"Retry-After": str(RETRY_S)})


async def _shape(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "missing" and first["loc"] == ("body",):
        return answer(400, "not_json", "the body: is empty, not JSON")
    return answer(422, Invalid.code, problem(first))


def problem(found: Mapping[str, Any]) -> str:
    """What pydantic found, with the place as people write it."""
    where, *path = found["loc"]
    said = _SAID.get(found["type"])
    if said is None:
        said = _words(found)
    return f"{_place(path) or f'the {where}'}: {said}"


def _words(found: Mapping[str, Any]) -> str:
    if found["type"] == "literal_error":
        return f"must be {found['ctx']['expected']}"
    said = str(found["msg"]).removeprefix("Value error, ")
    return f"must be {said[16:]}" if said.startswith("Input should be ") else said


def _place(path: Sequence[str | int]) -> str:
    place = ""
    for step in path:
        place = step_into(place, step)
    return place


async def _http(_request: Request, error: Exception) -> Response:
    """What the framework refuses by itself has no words for people yet."""
    assert isinstance(error, HTTPException)
    headers = error.headers
    if isinstance(error, Refusal):
        return answer(error.status_code, error.code, error.detail, headers)
    if error.status_code == 404:
        return answer(404, NotFound.code, "there is nothing at this address")
    if error.status_code == 405:
        allowed = (headers or {}).get("Allow", "")
        return answer(405, "method", f"this address takes {allowed} only", headers)
    return answer(error.status_code, "refused", str(error.detail), headers)


async def _bug(_request: Request, _error: Exception) -> Response:
    # Whoever runs the server is told by the edge, which the error reaches next.
    return answer(500, "bug", "a bug in the server: whoever runs it was told")
