"""A server that repeats what was sent to it: no token of it comes into any message."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest

from colony.errors import ColonyError
from colony.tracker.http.client import Http
from colony.tracker.http.veil import Veil
from tests.fakes.pretended import HandToken, client_to
from tests.fakes.raw_server import Asked, answer, answering

SECRET = "tkt_Sechs+und/zwanzig=Zeichen"


def line_of(reply: Callable[[Asked], bytes], token: HandToken | None = None) -> str:
    with answering(reply) as server:
        http = client_to(server.url, token=token or HandToken(SECRET))
        with pytest.raises(ColonyError) as caught:
            http.send("POST", "/api/x", {})
    return caught.value.line


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429, 500, 503])
def test_an_error_that_repeats_it(status: int) -> None:
    # So far on that the line is cut within the token.
    for before in ("", "x" * 280):
        line = line_of(
            lambda asked, far=before: answer(
                status, {"error": far + " Bearer " + asked.token, "code": "busy"}
            )
        )
        assert "tkt" not in line.lower()


ECHOES = {
    "another place": lambda token: answer(
        302, body=b"", kind="", location=f"http://{quote(token, safe='')}.example/"
    ),
    "a place without a token's signs": lambda token: answer(
        302, body=b"", kind="", location="http://tkt_Sechs.example/"
    ),
    "a kind of content": lambda token: answer(200, {}, kind=token),
    "a broken head": lambda token: b"HTTP/1.1 200 OK\r\n" + token.encode() + b"\r\n\r\n",
    "a broken head that is cut": lambda token: (
        b"HTTP/1.1 200 OK\r\n" + b"x" * 122 + token.encode() + b"\r\n\r\n"
    ),
    "letters by their numbers": lambda token: answer(
        422, body=f'{{"error": "\\u0074{token[1:]}"}}'.encode()
    ),
    "a broken first line": lambda token: b"HTTP/" + b" " * 150 + token.encode() + b"\r\n\r\n",
    "a wait": lambda token: answer(429, {"error": "slower"}, retry_after=token),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_anything_else_that_repeats_it(echo: Callable[[str], bytes]) -> None:
    token = HandToken("tkt_Sechs")
    line = line_of(lambda asked: echo(asked.token), token)
    assert "tkt" not in line.lower()
    assert "tkt" not in line_of(lambda asked: echo(asked.token.upper()), token).lower()


def test_as_another_program_writes_it() -> None:
    for shown in (quote(SECRET), quote(SECRET, safe=""), SECRET.lower()):
        line = line_of(lambda _, said=shown: answer(422, {"error": f"token={said}&a"}))
        assert line == "token=[token]&a (422 to POST /api/x)"


def test_each_token_that_was_ever_sent() -> None:
    """One that was swapped, and the one of another client of the same tracker."""
    veil = Veil()
    sent: list[str] = []

    def reply(asked: Asked) -> bytes:
        sent.append(asked.token)
        status = 401 if asked.token == "tkt_one" else 422
        return answer(status, {"error": " ".join(sent)})

    with answering(reply) as server:
        first = client_to(server.url, token=HandToken("tkt_one", swapped="tkt_two"))
        first._veil = veil
        second = client_to(server.url, token=HandToken("tkt_three"))
        second._veil = veil
        for http in (first, second):
            with pytest.raises(ColonyError) as caught:
                http.send("POST", "/api/x", {})
    assert caught.value.line == "[token] [token] [token] (422 to POST /api/x)"


def test_what_the_tracker_holds_comes_as_it_is() -> None:
    with answering(lambda asked: answer(200, {"text": asked.token})) as server:
        http: Http = client_to(server.url, token=HandToken(SECRET))
        assert http.get("/api/x").value == {"text": SECRET}
