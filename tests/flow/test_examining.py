"""Checks are made one by one: one that raises or hangs is a line, and the next is made."""

from __future__ import annotations

import threading
from collections.abc import Callable

from colony.core.doctor import Diagnosis, fail, ok
from colony.core.ticket import Me, Member, ProjectInfo
from colony.errors import Unreachable
from colony.flow.doctor.examining import Check, examine
from colony.flow.doctor.tracker import (
    Arrival,
    Names,
    look_at_own_token,
    look_at_person_token,
    look_over_http,
)

FINE = Check("fine", lambda: (ok("fine", "x"),))


def raising(error: Exception) -> Callable[[], tuple[Diagnosis, ...]]:
    def look() -> tuple[Diagnosis, ...]:
        raise error

    return look


def test_what_a_check_raises_is_its_line() -> None:
    found = list(
        examine(
            [
                Check("a", raising(Unreachable("no server: start it"))),
                Check("b", raising(PermissionError(13, "Permission denied", "/x"))),
                Check("c", raising(ZeroDivisionError("by\nzero"))),
                FINE,
            ]
        )
    )
    assert found[0] == fail("a", "no server: start it")
    assert found[1] == fail("b", "/x: Permission denied")
    assert found[2].fact.endswith("(ZeroDivisionError: by zero)")
    assert found[3] == ok("fine", "x")


def test_a_check_that_hangs_is_left_behind() -> None:
    release = threading.Event()

    def hang() -> tuple[Diagnosis, ...]:
        release.wait()
        return ()

    try:
        found = list(examine([Check("slow", hang), FINE], limit_s=0.05))
    finally:
        release.set()
    assert [(each.check, each.state) for each in found] == [("slow", "fail"), ("fine", "ok")]
    assert "no answer within 0.05 s" in found[0].fact


class Clock:
    def wall_ms(self) -> int:
        return 1_000_000

    def boot_s(self) -> float:
        return 0.0

    def boot_id(self) -> str:
        return ""


class Served:
    """As much of a tracker over HTTP as is asked."""

    def __init__(self, me: Me | None, now_ms: int = 1_000_000) -> None:
        self._me = me
        self._now = now_ms
        self.closed = 0
        self.features = frozenset({"me"} if me else ())

    def me(self) -> Me:
        assert self._me is not None
        return self._me

    def now_ms(self) -> int:
        return self._now

    def projects(self) -> dict[str, dict[str, int]]:
        return {"shop": {"open": 1}}

    def project(self, name: str) -> ProjectInfo:
        return ProjectInfo(name, (Member("anna", "u1", "admin"),) if self._me else ())

    def close(self) -> None:
        self.closed += 1


REACHED = Arrival(there=True)
NAMES = Names("anna", "colony", ("creator",))


def seen(served: Served, own_users: tuple[str, ...] = ()) -> dict[str, str]:
    found = (
        *look_over_http("https://x", lambda: served, NAMES, Clock(), REACHED),  # type: ignore[arg-type, return-value]
        *look_at_own_token(lambda: served, "colony", own_users, REACHED),  # type: ignore[arg-type, return-value]
    )
    assert served.closed == 2
    return {each.check: each.state for each in found}


def test_a_served_tracker() -> None:
    machine, person = Me("colony", "u2", True, False), Me("anna", "u1", False, True)
    good = {"tracker": "ok", "clock": "ok", "Colony's token": "ok"}
    assert seen(Served(machine)) == good
    assert seen(Served(person)) == good | {"Colony's token": "fail"}
    assert seen(Served(machine, 2_000_000)) == good | {"clock": "fail"}
    assert seen(Served(None)) == good | {"Colony's token": "fail"}
    assert seen(Served(None), ("colony",)) == good


def test_a_persons_token() -> None:
    person = Served(Me("anna", "u1", False, False))
    assert [each.state for each in look_at_person_token(lambda: person, REACHED)] == ["ok"]  # type: ignore[arg-type, return-value]
    assert person.closed == 1
    assert [each.state for each in look_at_person_token(None, REACHED)] == ["warn"]
