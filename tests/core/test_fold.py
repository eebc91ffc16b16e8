"""Rows of different moments, held together: what one shows of another is what the other says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from histories import make_ticket

from colony.core.fold import folded, one_sided
from colony.core.ticket import Ref, Ticket


def rows(*tickets: Ticket) -> dict[Ref, Ticket]:
    return folded({}, tickets)


def a(number: int) -> Ref:
    return make_ticket(number).ref


def tied(number: int, **more: Any) -> Ticket:
    """Relatives by number, as they looked long ago: open and without a word."""
    ends = {}
    for name, value in more.items():
        if name == "parent":
            ends[name] = replace(make_ticket(value), subject="").related()
        elif name in ("children", "blocked_by", "blocks"):
            ends[name] = tuple(replace(make_ticket(one), subject="").related() for one in value)
        else:
            ends[name] = value
    return make_ticket(number, **ends)


def test_a_list_of_different_moments_is_of_one() -> None:
    """A list that comes in parts: what was shown in the first has changed before the last."""
    found = rows(tied(1, children=(2,), blocks=(3,)), tied(2, parent=1, state="done"),
                 tied(3, blocked_by=(1,)))  # fmt: skip
    assert found[a(1)].children == (found[a(2)].related(),)
    assert found[a(2)].parent == found[a(1)].related()
    assert found[a(3)].blocked_by == (found[a(1)].related(),)
    assert found[a(1)].blocks == (found[a(3)].related(),)


def test_what_others_show_follows_a_row() -> None:
    before = rows(
        tied(1, children=(2,), blocked_by=(2,), blocks=(2,)), tied(2, parent=1), tied(3, parent=2)
    )
    now = tied(2, parent=1, state="review", subject="Other words")
    found = folded(before, [now])
    for shown in (found[a(1)].children, found[a(1)].blocked_by, found[a(1)].blocks):
        assert shown == (now.related(),)
    assert found[a(3)].parent == now.related()
    assert before[a(1)].children != found[a(1)].children


def test_a_row_shows_the_others_as_they_are_known() -> None:
    """A row that was read after another one changed may show what is told of that one later."""
    before = rows(tied(1, children=(2,)), tied(2, parent=1, state="review"))
    found = folded(before, [tied(1, children=(2,), subject="New")])
    assert found[a(1)].children == (before[a(2)].related(),)


def test_rows_that_nothing_changed_for_stay_the_same_objects() -> None:
    before = rows(*(make_ticket(at) for at in range(1, 5)), tied(5, parent=1), tied(6, parent=2))
    found = folded(before, [tied(1, state="done")])
    assert [ref for ref in found if found[ref] is not before[ref]] == [a(1), a(5)]


def test_a_relative_that_is_not_known_is_shown_as_it_was_told() -> None:
    assert rows(tied(1, parent=9))[a(1)].parent == tied(1, parent=9).parent


def test_relatives_that_do_not_say_so_are_found() -> None:
    cases = {
        (tied(1, parent=2), make_ticket(2)): {a(2)},
        (make_ticket(1), tied(2, children=(1,))): {a(2)},
        (tied(1, blocked_by=(2,)), make_ticket(2)): {a(2)},
        (make_ticket(1), tied(2, blocks=(1,))): {a(2)},
        (tied(1, blocks=(2,)), make_ticket(2)): {a(2)},
        (tied(1, children=(2,)), make_ticket(2)): {a(2)},
        # Related still, but not so.
        (tied(1, blocked_by=(2,)), tied(2, children=(1,), blocks=(1,))): {a(2)},
        (tied(1, parent=2), tied(2, children=(1,))): set(),
        (tied(1, blocked_by=(2,)), tied(2, blocks=(1,))): set(),
        (tied(1, parent=9), make_ticket(2)): set(),
        (make_ticket(1), tied(2, children=(3,)), make_ticket(3)): set(),
    }
    for tickets, expected in cases.items():
        assert one_sided(rows(*tickets), [a(1)]) == expected, tickets
    assert one_sided(rows(tied(1, parent=2), make_ticket(2)), [a(1), a(2)]) == set()
