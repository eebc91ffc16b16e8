"""One server over HTTP: requests that are repeated while they may be, answers that are judged.

A connection that was refused is `NoAnswer` too, although nothing can have happened: a server that
is being restarted must be waited for in the middle of a session, and who repeats a write with its
key after it never happened loses nothing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import httpx

from colony.core.lines import Json, clip
from colony.errors import NotAccepted
from colony.tracker.http.address import checked, client_of, joined, place, same_origin
from colony.tracker.http.answer import Answer, Raw, Trouble, date_ms, read, silent
from colony.tracker.http.deadline import Deadline
from colony.tracker.http.offset import Offset, heard
from colony.tracker.http.veil import Veil

Params = Mapping[str, str | list[str]]
"""A query; a list is the same name several times."""
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

ANSWER_MAX: Final = 64 * 1024 * 1024
"""Bytes of an answer, unpacked."""
REDIRECTS_MAX: Final = 3
PAUSE_S: Final = 0.25
"""Before the second try; doubled before each further one, and spread by chance."""


class Clock(Protocol):
    def wall_ms(self) -> int: ...
    def boot_s(self) -> float:
        """Seconds that only go on."""
        ...


class Token(Protocol):
    """Where the token comes from."""

    @property
    def name(self) -> str:
        """What a person calls it; it is shown, the token never is."""
        ...

    def secret(self, *, again: bool = False) -> str | None:
        """The token as it is now; None: there is none. `again`: the last one was not accepted."""
        ...


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. No try begins later than `tries_s` after the first one."""

    connect_s: float = 10.0
    read_s: float = 30.0
    """Without a byte of the answer."""
    answer_s: float = 120.0
    """For a whole try, from its first byte to the last one of the answer."""
    tries_s: float = 15.0


PATIENT: Final = Patience()
QUICK: Final = Patience(connect_s=5.0, read_s=5.0, answer_s=5.0, tries_s=0.0)
"""One try, for what is worth no waiting."""
ONE_TRY: Final = Patience(connect_s=5.0, read_s=10.0, answer_s=30.0, tries_s=0.0)
"""For who asks again soon in any case, and has other things to look after meanwhile."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the client takes from the machine."""

    clock: Clock
    chance: Callable[[], float]
    """From 0 up to 1: spreads the tries of many clients."""
    pause: Callable[[float], object]
    """Waits that many seconds; what it raises ends the request."""


@dataclass(frozen=True, slots=True)
class Request:
    method: Method
    path: str
    """Below the base address, already quoted."""
    params: Params
    headers: Mapping[str, str]
    body: Json
    repeatable: bool
    may_be_empty: bool = False

    @property
    def asked(self) -> str:
        """For a line: without the query, which may hold a person's words."""
        return f"{self.method} {clip(self.path, 120)}"


class Http:
    """One server. Threads may share it."""

    def __init__(
        self,
        base: str,
        *,
        token: Token,
        user_agent: str,
        around: Surroundings,
        patience: Patience = PATIENT,
        veil: Veil | None = None,
    ) -> None:
        """`base` may have a path; clients of one tracker share a `veil`. UsageProblem: the base,
        or what the environment says of proxies, cannot be used."""
        self._base = checked(base)
        self._token = token
        self._around = around
        self._patience = patience
        self._veil = veil or Veil()
        self._offset: Offset | None = None
        self._client = client_of(self._base, user_agent)
        self._deadline = Deadline(around.clock.boot_s)
        self._deadline.bind(self._client)

    def get(
        self,
        path: str,
        params: Params | None = None,
        etag: str = "",
        patience: Patience | None = None,
    ) -> Answer:
        """2xx, or 304 where `etag` still holds."""
        headers = {"if-none-match": etag} if etag else {}
        request = Request("GET", path, params or {}, headers, None, repeatable=True)
        return self._ask(request, patience or self._patience)

    def send(
        self,
        method: Method,
        path: str,
        body: Json = None,
        *,
        key: str = "",
        repeatable: bool = False,
        may_be_empty: bool = False,
        patience: Patience | None = None,
    ) -> Answer:
        """2xx, or 409 with its body; an object unless it `may_be_empty`. `repeatable`: the server
        knows the key again, or the same bytes twice do no harm; else it is repeated only where it
        surely did not happen."""
        headers = {"idempotency-key": key} if key else {}
        request = Request(method, path, {}, headers, body, repeatable, may_be_empty)
        return self._ask(request, patience or self._patience)

    def now_ms(self) -> int | None:
        """The server's time; None: no answer has told it yet."""
        offset = self._offset
        return None if offset is None else self._own_ms() + offset.ms

    def close(self) -> None:
        self._client.close()

    def _ask(self, request: Request, patience: Patience) -> Answer:
        """The first usable answer, or the error of the last try that says most.

        After one try that may have happened, no later refusal to listen makes it undone.
        """
        clock = self._around.clock
        until_s = clock.boot_s() + patience.tries_s
        pause_s, unknown = PAUSE_S, None
        while True:
            with self._deadline.within(patience.answer_s):
                found = self._try(request, patience)
            if isinstance(found, Answer):
                return found
            if found.maybe:
                unknown = found.error
            wait_s = max(found.after_s, pause_s * (0.5 + self._around.chance()))
            allowed = found.again and (request.repeatable or not found.maybe)
            if not allowed or clock.boot_s() + wait_s > until_s:
                told = unknown if unknown is not None and found.again else found.error
                raise self._veil.over_error(told)
            self._around.pause(wait_s)
            pause_s *= 2

    def _try(self, request: Request, patience: Patience) -> Answer | Trouble:
        """One try; a second one at once where the token was swapped meanwhile."""
        secret = self._token.secret()
        found = self._once(request, patience, secret)
        if isinstance(found, Trouble) and isinstance(found.error, NotAccepted):
            swapped = self._token.secret(again=True)
            if swapped is not None and swapped != secret:
                found = self._once(request, patience, swapped)
        if isinstance(found, Trouble) and isinstance(found.error, NotAccepted):
            return Trouble(NotAccepted(self._not_accepted(found)), again=False, maybe=False)
        return found

    def _not_accepted(self, found: Trouble) -> str:
        name = self._token.name
        if self._token.secret() is None:
            return f"the tracker wants a token, and there is none: {name}; {found.error}"
        return f"the tracker does not accept the token of {name}: {found.error}"

    def _once(self, request: Request, patience: Patience, secret: str | None) -> Answer | Trouble:
        url = httpx.URL(self._base + request.path, params=dict(request.params) or None)
        for _ in range(REDIRECTS_MAX + 1):
            raw = self._exchange(request, url, patience, secret)
            if isinstance(raw, Trouble):
                return raw
            if not (300 <= raw.status < 400 and "location" in raw.headers):
                kept, empty = "if-none-match" in request.headers, request.may_be_empty
                return read(raw, request.asked, conditional=kept, may_be_empty=empty)
            target = joined(url, raw.headers["location"])
            if request.method != "GET" or target is None or not same_origin(target, url):
                return _not_followed(request, raw, target)
            url = target
        return silent(request.asked, "is sent from place to place", maybe=False, again=False)

    def _exchange(
        self, request: Request, url: httpx.URL, patience: Patience, secret: str | None
    ) -> Raw | Trouble:
        built = self._built(request, url, patience, secret)
        sent_ms = self._own_ms()
        try:
            with contextlib.closing(self._client.send(built, stream=True)) as response:
                got_ms = self._own_ms()
                body = _body(response)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            why = f"{place(url)} cannot be reached ({self._why(error)})"
            # A certificate does not become right by itself.
            passes = "CERTIFICATE" not in str(error)
            return silent(request.asked, why, maybe=False, again=passes)
        except (httpx.HTTPError, httpx.StreamError) as error:
            return silent(request.asked, f"no whole answer of {place(url)} ({self._why(error)})")
        if isinstance(body, str):
            return silent(request.asked, body, again=False)
        raw = self._veiled(Raw(response.status_code, dict(response.headers), body))
        told_ms = date_ms(raw)
        if told_ms is not None:
            self._offset = heard(self._offset, sent_ms, got_ms, told_ms)
        return raw

    def _built(
        self, request: Request, url: httpx.URL, patience: Patience, secret: str | None
    ) -> httpx.Request:
        headers = dict(request.headers)
        if secret is not None:
            self._veil.know(secret)
            headers["authorization"] = f"Bearer {secret}"
        content = None
        if request.body is not None:
            headers["content-type"] = "application/json"
            # Halves of surrogate pairs are in no text that was made storable.
            content = json.dumps(request.body, ensure_ascii=False).encode("utf-8", "replace")
        # As UTF-8: of str, httpx takes ASCII only.
        lines = [(name.encode(), value.encode()) for name, value in headers.items()]
        seconds = httpx.Timeout(patience.read_s, connect=patience.connect_s)
        return self._client.build_request(
            request.method, url, headers=lines, content=content, timeout=seconds
        )

    def _why(self, error: Exception) -> str:
        """What broke, in a few words. Never the request itself, which holds the token."""
        if isinstance(error, httpx.ConnectTimeout):
            return "no connection in time"
        if isinstance(error, httpx.TimeoutException):
            return "it took too long"
        if isinstance(error, httpx.LocalProtocolError):
            return "a header that cannot be sent"
        return clip(self._veil.over(str(error)), 160) or type(error).__name__

    def _veiled(self, raw: Raw) -> Raw:
        """Before anything is cut from it: half a token would not be known again. What a tracker
        holds comes as it is."""
        body = raw.body if raw.status < 400 else self._veil.over_bytes(raw.body)
        return Raw(raw.status, self._veil.over_headers(raw.headers), body)

    def _own_ms(self) -> int:
        """The clock that the server's is measured by: one that does not jump."""
        return round(self._around.clock.boot_s() * 1000)


def _body(response: httpx.Response) -> bytes | str:
    """All of the body, or why it is not read to its end."""
    parts, size = [], 0
    for part in response.iter_bytes():
        size += len(part)
        if size > ANSWER_MAX:
            return f"an answer of more than {ANSWER_MAX // 1024 // 1024} MiB"
        parts.append(part)
    return b"".join(parts)


def _not_followed(request: Request, raw: Raw, target: httpx.URL | None) -> Trouble:
    """Nothing is told to another place; a write that was sent on has not happened."""
    where = "nowhere" if target is None else place(target)
    why = f"answered {raw.status} and points to {where}, which is not followed (COLONY_TICKETS_URL)"
    return silent(request.asked, why, maybe=False, again=False)
