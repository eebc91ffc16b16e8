"""The order of work: priority, then age, then number."""

from __future__ import annotations

from histories import make_ticket

from colony.core.rank import rank


def test_priority_then_age_then_number() -> None:
    wanted = [
        make_ticket(9, priority=9, created_ms=900),
        make_ticket(8, created_ms=100),
        make_ticket(3, created_ms=200),
        make_ticket(4, "bakery", created_ms=200),
        make_ticket(4, "shop", created_ms=200),
        make_ticket(1, priority=-1, created_ms=1),
    ]
    shuffled = wanted[3:] + wanted[:3]
    assert sorted(shuffled, key=rank) == wanted
