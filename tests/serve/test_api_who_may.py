"""Who may do what over HTTP: each route by each kind of token, without one, and with a bad one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.served import in_memory
from tests.serve.api_routes import (
    EVERYBODY,
    ONE,
    OPEN,
    READS,
    WRITES,
    Route,
    Site,
    furnish,
    head,
    held,
    raw,
    site,
)

NAMES = {
    "owner": "anna",
    "admin": "ada",
    "edit": "emil",
    "use": "uwe",
    "none": "nora",
    "machine": "colony",
}
UNKNOWN = "tkt_" + "a" * 43


@pytest.fixture(scope="module")
def furnished() -> Iterator[Site]:
    with site() as served:
        fill(served)
        yield served


def fill(served: Site) -> None:
    furnish(served.store)
    anna = served.store.user("anna", owner=True)
    for role in ("admin", "edit", "use"):
        served.store.service.set_member(anna, "shop", NAMES[role], role, key=role)  # type: ignore[arg-type]
    for name in NAMES.values():
        served.token(name)


@pytest.fixture
def shop(furnished: Site) -> Iterator[Site]:
    """Nothing is written while the test runs."""
    before = held(furnished.store)
    yield furnished
    assert held(furnished.store) == before
    assert furnished.store.bugs == []


def ask(client: httpx.Client, route: Route) -> httpx.Response:
    if route.body is None:
        return client.request(route.method, route.path)
    return client.request(route.method, route.path, json=route.body)


def refused(answer: httpx.Response, status: int, code: str) -> str:
    told = answer.json()
    assert (answer.status_code, told["code"]) == (status, code), answer.text
    assert set(told) == {"error", "code"}
    assert told["error"].isprintable()
    return str(told["error"])


def test_every_route_is_in_the_tables(furnished: Site) -> None:
    """A new route needs a place in them before it can be served."""
    described = {
        f"{method.upper()} {path}"
        for path, operations in furnished.description()["paths"].items()
        for method in operations
    }
    assert described == {str(each) for each in (*READS, *WRITES, *OPEN)}


@pytest.mark.parametrize("route", WRITES, ids=str)
def test_a_write_that_is_not_ones_own_is_refused(shop: Site, route: Route) -> None:
    """It says who is meant."""
    for who in sorted(EVERYBODY - route.may):
        line = refused(ask(shop.client(NAMES[who]), route), 403, "forbidden")
        assert NAMES[who] in line
        assert 403 in shop.documented(route)


def test_a_write_that_is_ones_own_is_done(furnished: Site) -> None:
    for who, name in NAMES.items():
        with site() as served:
            fill(served)
            for route in WRITES:
                if who in route.may:
                    answer = ask(served.client(name), route)
                    assert answer.status_code in (200, 201), (who, str(route), answer.text)
                    assert answer.status_code in furnished.documented(route)
            assert served.store.bugs == []


@pytest.mark.parametrize("route", READS, ids=str)
def test_each_read_by_each_kind_of_token(shop: Site, route: Route) -> None:
    for who, name in NAMES.items():
        assert ask(shop.client(name), route).status_code == 200, who


STATES = ("open", "progress", "review", "pending", "done", "reopened", "canceled")


@pytest.mark.parametrize("who", ["edit", "use", "none", "machine"])
def test_the_states_of_a_creator_are_his(shop: Site, who: str) -> None:
    client = shop.client(NAMES[who])
    closed = {"done", "reopened", "canceled"}
    never = {"edit": closed, "machine": closed, "none": {*STATES} - {"open"},
             "use": {*STATES} - {"open", "review"}}[who]  # fmt: skip
    for state in sorted(never):
        answer = client.post(f"{ONE}/state", json={"state": state, "text": "x"})
        assert NAMES[who] in refused(answer, 403, "forbidden")
        new = {"project": "shop", "subject": "x", "state": state}
        refused(client.post("/api/tickets", json=new), 403, "forbidden")


def test_a_persons_source_is_no_machines(shop: Site) -> None:
    new = {"project": "shop", "subject": "x", "source": "colony:question:1"}
    for name in ("anna", "ada", "nora"):
        answer = shop.client(name).post("/api/tickets", json=new)
        assert refused(answer, 422, "invalid").startswith("source")


def test_on_behalf_is_a_machines(shop: Site) -> None:
    event = shop.store.service.changes(0).last
    for name in ("anna", "ada", "emil", "nora"):
        body = {"state": "done", "onBehalf": event}
        refused(shop.client(name).post(f"{ONE}/state", json=body), 403, "forbidden")


# --- 401 -----------------------------------------------------------------------------------

LATER = 10**9


@pytest.fixture(scope="module")
def wrong(furnished: Site) -> dict[str, str]:
    """Authorization headers that say nobody."""
    store = furnished.store
    known = furnished.token("anna")
    expired = store.token("anna", owner=True, expires_ms=store.clock() + 1)
    revoked = store.token("anna", owner=True)
    store.tokens.revoke(store.tokens.every()[-1].id)
    store.clock.ms += 1  # type: ignore[attr-defined]
    return {
        "unknown": f"Bearer {UNKNOWN}",
        "expired": f"Bearer {expired}",
        "revoked": f"Bearer {revoked}",
        "no scheme": known,
        "a wrong scheme": f"Basic {known}",
        "a longer scheme": f"Bearers {known}",
        "another scheme": f"Token {known}",
        "nothing": "Bearer",
        "one letter less": f"Bearer {known[:-1]}",
        "one letter more": f"Bearer {known}x",
        "two": f"Bearer {known} {known}",
        "two with a comma": f"Bearer {known}, Bearer {known}",
        "quoted": f'Bearer "{known}"',
        "other case": f"Bearer {known.swapcase()}",
        "an id": "Bearer t1",
        "a name": "Bearer anna",
        "odd letters": f"Bearer tkt_{'é' * 43}",
        "a long one": f"Bearer tkt_{'a' * 5000}",
        "SQL": "Bearer ' OR 1=1 --",
    }


def test_a_token_that_is_not_good_is_worse_than_none(shop: Site, wrong: dict[str, str]) -> None:
    """Before anything else is looked at: not even a body that is too large or no JSON."""
    client = shop.client(None)
    for what, header in wrong.items():
        for route in (*READS, *WRITES):
            sent = json.dumps(route.body).encode() if route.body else b"no JSON"
            answer = client.request(
                route.method,
                route.path,
                content=None if route.method == "GET" else sent,
                headers=[(b"authorization", header.encode("latin-1"))],
            )
            line = refused(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"].startswith("Bearer"), what
            assert header.split()[-1] not in line or what == "nothing"
            assert 401 in shop.documented(route)


def test_without_a_token_there_is_nothing(shop: Site) -> None:
    for route in (*READS, *WRITES):
        answer = ask(shop.client(None), route)
        refused(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_token_is_good_in_its_header_only(shop: Site) -> None:
    """Not in the address, where it would be logged, nor in a cookie."""
    token = shop.token("anna")
    client = shop.client(None)
    for name in ("token", "access_token", "authorization", "key"):
        refused(client.get(f"/api/me?{name}={token}"), 401, "unauthorized")
    answer = raw(shop.url, head("GET", "/api/me", None, f"Cookie: token={token}"))
    assert answer is not None
    assert answer.status == 401


def test_the_scheme_is_read_in_any_case(shop: Site) -> None:
    for scheme in ("bearer", "BEARER", "Bearer"):
        header = {"authorization": f"{scheme} {shop.token('anna')}"}
        assert shop.client(None).get("/api/me", headers=header).json()["user"] == "anna"


@pytest.mark.parametrize("who", NAMES)
def test_me_is_who_the_token_says(shop: Site, who: str) -> None:
    told = shop.client(NAMES[who]).get("/api/me").json()
    assert set(told) == {"user", "userId", "machine", "owner", "roles"}
    assert (told["user"], told["machine"], told["owner"]) == (
        NAMES[who], who == "machine", who == "owner",
    )  # fmt: skip
    expected = {"owner": "admin", "machine": "edit", "none": None}.get(who, who)
    assert told["roles"].get("shop") == expected


def test_what_needs_no_token_needs_none(shop: Site, wrong: dict[str, str]) -> None:
    for route in OPEN:
        told = ask(shop.client(None), route).json()
        assert set(told) == {"ok", "version", "schema"}
        answer = shop.client(None).get(route.path, headers={"authorization": wrong["unknown"]})
        assert answer.status_code == 200


# --- public reading ------------------------------------------------------------------------


def test_public_reading_opens_reads_and_nothing_else(wrong: dict[str, str]) -> None:
    store = in_memory()
    with site(store, public_read=True) as served:
        fill(served)
        before = held(store)
        nobody = served.client(None)
        for route in READS:
            answer = ask(nobody, route)
            assert answer.status_code == (200 if route.public else 401), str(route)
            assert nobody.head(route.path).status_code == answer.status_code
            bad = nobody.request(
                route.method, route.path, headers={"authorization": wrong["unknown"]}
            )
            assert bad.status_code == 401, str(route)
        for route in WRITES:
            refused(ask(nobody, route), 401, "unauthorized")
        assert held(store) == before
        # Whoever has a token is still somebody.
        assert served.client("nora").get("/api/me").json()["user"] == "nora"
        assert store.bugs == []
    store.close()


def test_nobody_without_a_token_sees_who_has_one(shop: Site) -> None:
    """No answer of any route holds a secret, or a hash of one."""
    for route in (*READS, *OPEN):
        told = ask(shop.client("anna"), route).text
        for secret in shop.tokens.values():
            assert secret not in told
            assert secret.removeprefix("tkt_") not in told
