"""What is next, over many tickets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from histories import SHOP, Story, make_survey, make_ticket, question, related
from hypothesis import given
from hypothesis import strategies as st

from colony.core.eligible import COUNTED, Ready, judge
from colony.core.pick import Unready, pick
from colony.core.rank import rank
from colony.core.survey import ProjectTrouble
from colony.core.ticket import STATES, History, Ref, Ticket


class NoHistories(Mapping[Ref, History]):
    """Fails the test that reads one."""

    def __getitem__(self, ref: Ref) -> History:
        raise AssertionError(f"the history of {ref} was read")

    def get(self, ref: Ref, default: object = None) -> History:  # type: ignore[override]
        return self[ref]

    def __iter__(self) -> Iterator[Ref]:
        raise AssertionError("histories were read")

    def __len__(self) -> int:
        raise AssertionError("histories were read")


def test_nothing_at_all() -> None:
    answer = pick(make_survey())
    assert answer.chosen is None
    assert (answer.eligible, answer.waiting, answer.counts, answer.unready) == ((), (), {}, ())


def test_the_highest_priority_then_the_oldest_is_chosen() -> None:
    tickets = (
        make_ticket(1, state="review"),
        make_ticket(2, blocked_by=(related(9),)),
        make_ticket(3),
        make_ticket(4, priority=5),
        make_ticket(5),
        make_ticket(6, state="done"),
    )
    answer = pick(make_survey(*tickets))
    assert answer.chosen is not None
    assert answer.chosen.ticket.ref.number == 4
    assert [one.ticket.ref.number for one in answer.eligible] == [4, 3, 5]
    assert [one.ticket.ref.number for one in answer.waiting] == [2]
    assert answer.counts == {"open": 4, "review": 1, "done": 1}


def test_projects_that_need_a_question_once_each() -> None:
    tickets = (
        make_ticket(1, "attic"),
        make_ticket(2, "attic"),
        make_ticket(3, "attic", state="done"),
        make_ticket(1, "barn"),
        make_ticket(1, "cellar"),
        make_ticket(1, "shop"),
        make_ticket(1, "yard", state="pending"),
    )
    registry = {
        "barn": ProjectTrouble("no concept", "the concept is missing"),
        "cellar": ProjectTrouble("broken", "not JSON"),
        "shop": SHOP,
    }
    answer = pick(make_survey(*tickets, registry=registry))
    assert answer.unready == (
        Unready("attic", "no file", (Ref("attic", 1), Ref("attic", 2))),
        Unready("barn", "no concept", (Ref("barn", 1),)),
    )


def test_no_history_is_read_where_the_row_decides() -> None:
    tickets = [
        make_ticket(number, state=state)
        for number, state in enumerate((s for s in STATES if s not in ("reopened", "progress")), 1)
    ]
    tickets.append(make_ticket(9, state="reopened", subject="Question: why?"))
    answer = pick(make_survey(*tickets, histories=NoHistories()))
    assert answer.chosen is not None


def test_m030_questions_are_listed_and_never_chosen() -> None:
    tickets = [
        make_ticket(number, state=state, subject="Question: why?")
        for number, state in enumerate(("open", "reopened", "pending"), 1)
    ]
    answer = pick(make_survey(*tickets))
    assert answer.chosen is None
    assert [one.waits.code for one in answer.waiting] == ["question"] * 3


rows = st.builds(
    lambda number, state, priority, created, blocked, asked, author: make_ticket(
        number,
        state=state,
        priority=priority,
        created_ms=created,
        blocked_by=(related(900, blocked),) if blocked else (),
        children=(question(901, asked),) if asked else (),
        user_id=author,
    ),
    st.integers(1, 30),
    st.sampled_from(STATES),
    st.integers(-9, 9),
    st.integers(0, 5),
    st.none() | st.sampled_from(STATES),
    st.none() | st.sampled_from(STATES),
    st.sampled_from(["u1", "u3"]),
)


@given(st.lists(rows, max_size=20, unique_by=lambda row: row.ref))
def test_every_ticket_is_chosen_listed_or_counted_exactly_once(tickets) -> None:
    survey = make_survey(*tickets)
    answer = pick(survey)
    listed = [one.ticket.ref for one in (*answer.eligible, *answer.waiting)]
    counted = [
        row.ref
        for row in tickets
        if not isinstance(said := judge(row, survey), Ready) and said.code in COUNTED
    ]
    assert sorted([*listed, *counted]) == sorted(row.ref for row in tickets)
    assert sum(answer.counts.values()) == len(tickets)
    assert [one.ticket for one in answer.eligible] == sorted(
        (one.ticket for one in answer.eligible), key=rank
    )


@given(st.permutations([make_ticket(n, priority=n % 3, created_ms=n // 2) for n in range(1, 9)]))
def test_the_order_of_rows_does_not_matter(tickets) -> None:
    assert pick(make_survey(*tickets)) == replace(pick(make_survey(*sorted(tickets, key=rank))))


def test_every_ticket_is_looked_at_a_few_times_however_many_wait_for_answers() -> None:
    """Sent back, with an open question each: the question's row is found, not searched for."""

    def rounds(count: int) -> int:
        tickets, histories = [], {}
        for at in range(count):
            story = Story().moves("progress").moves("review").moves("reopened", "not so")
            asks = question(1000 + at)
            row = make_ticket(1000 + at, subject=asks.subject, created_ms=story.now + 1)
            one = make_ticket(1 + at, state="reopened", children=(asks,))
            histories[one.ref] = History(one, tuple(story.events))
            tickets += [one, row]
        survey = make_survey(*tickets, histories=histories)
        counted = Rounds(survey.tickets)
        answer = pick(replace(survey, tickets=counted))
        assert [one.waits.code for one in answer.waiting].count("asked") == count
        return counted.begun

    assert rounds(30) == rounds(2)


class Rounds(tuple[Ticket, ...]):
    """Rows that count how often somebody begins to go through them."""

    begun = 0

    def __iter__(self) -> Iterator[Ticket]:
        self.begun += 1
        return super().__iter__()
