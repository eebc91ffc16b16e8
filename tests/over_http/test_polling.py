"""Changes without a feed: whatever happens in whatever order, each event is told once."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from colony.core.ticket import Event, History, Ref, Ticket
from colony.tracker.http.polling import BACK_MS, Polling

START_MS = 1_700_000_000_000


@dataclass
class Store:
    """Tickets by number. An event becomes visible at once, with a time up to two seconds old."""

    now_ms: int = START_MS
    count: int = 0
    events: dict[int, list[Event]] = field(default_factory=dict)

    def add(self, number: int, late_ms: int) -> None:
        self.count += 1
        event = Event(self.count, "comment", "anna", "", False, self.now_ms - late_ms)
        self.events.setdefault(number, []).append(event)

    def since(self, since_ms: int) -> tuple[History, ...]:
        found = []
        for number, events in self.events.items():
            times = [each.at_ms for each in events]
            if max(times) >= since_ms:
                row = Ticket(
                    Ref("shop", number), "", "", "open", "", "", False, "",
                    times[0], max(times), events[-1].id, len(events),
                )  # fmt: skip
                found.append(History(row, tuple(events)))
        return tuple(found)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 3), st.integers(0, BACK_MS)),
        st.tuples(st.just("wait"), st.integers(0, 5000), st.just(0)),
        st.tuples(st.just("poll"), st.integers(1, 4), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_each_event_is_told_once(steps: list[tuple[str, int, int]]) -> None:
    store = Store()
    polling = Polling(store.since)
    position, told = 0, []
    for what, number, late_ms in [*steps, *[("poll", 4, 0)] * 20]:
        if what == "add":
            store.add(number, late_ms)
        elif what == "wait":
            store.now_ms += number
        else:
            changes = polling.after(position, number)
            assert len(changes.events) <= number
            assert changes.last >= position
            position = changes.last
            told += [each.event.id for each in changes.events]
    assert sorted(told) == list(range(1, store.count + 1))


@given(STEPS, st.integers(0, 40))
def test_a_new_process_misses_nothing_after_where_the_old_one_was(
    steps: list[tuple[str, int, int]], dies_at: int
) -> None:
    """What was told in the last two seconds before may be told again, nothing is left out."""
    store = Store()
    polling = Polling(store.since)
    position, told = 0, set()
    for at, (what, number, late_ms) in enumerate([*steps, *[("poll", 4, 0)] * 20]):
        if at == dies_at:
            polling = Polling(store.since)
        if what == "add":
            store.add(number, late_ms)
        elif what == "wait":
            store.now_ms += number
        else:
            changes = polling.after(position, number)
            position = changes.last
            told |= {each.event.id for each in changes.events}
    assert told == set(range(1, store.count + 1))
