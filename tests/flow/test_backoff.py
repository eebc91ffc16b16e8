"""What did not go on is tried again later, and later still."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from colony.core.lines import Line
from colony.core.ticket import Ref
from colony.flow.backoff import BackOff
from colony.flow.closing import Closing
from colony.flow.supervise import Member

MEMBER = Member("s-20260131T1819-abc123", Ref("shop", 1), "/shop", None, cast("Any", None))
PARKED = Closing(Line("session.end"), park=1)


@pytest.fixture
def backoff() -> BackOff:
    return BackOff()


def due_ms(backoff: BackOff) -> int | None:
    tries = backoff.tries.get(MEMBER.session)
    return tries.due_ms if tries is not None else None


def test_a_pause_is_no_failed_try(backoff: BackOff) -> None:
    backoff.remember(MEMBER, PARKED, 0)
    assert due_ms(backoff) is None
    backoff.remember(MEMBER, replace(PARKED, park=2), 1_000)
    assert due_ms(backoff) is None, "it went on, and is parked anew"


def test_taken_up_and_still_in_the_same_pause_is_one(backoff: BackOff) -> None:
    """Its record cannot be written, or it parks again at once: it is not taken up without end."""
    backoff.remember(MEMBER, PARKED, 0)
    found = []
    for _ in range(5):
        backoff.remember(MEMBER, PARKED, 0)
        found.append(due_ms(backoff))
    assert found == [0, 60_000, 300_000, 900_000, 900_000]


def test_what_goes_on_after_all_is_forgotten(backoff: BackOff) -> None:
    for _ in range(3):
        backoff.remember(MEMBER, PARKED, 0)
    backoff.remember(MEMBER, replace(PARKED, park=2), 0)
    assert due_ms(backoff) is None
    backoff.remember(MEMBER, PARKED, 0)
    backoff.keep(())
    backoff.remember(MEMBER, PARKED, 0)
    assert due_ms(backoff) is None
