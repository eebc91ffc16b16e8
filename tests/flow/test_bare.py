"""Whole sessions over a tracker without conditions, keys, feed, members: real HTTP in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from shop import ASKS, DONE, ISSUE, SHOP, TTL_MS, Shop, shape, verdict, worker

from colony.core.lease import Lease, lease_of
from colony.core.session import Outcome
from colony.core.texts import lease as lease_texts
from colony.core.ticket import Me, Ref, State
from colony.errors import Busy
from colony.flow.observe import look
from colony.flow.take import salvage
from colony.tracker.http.client import Surroundings
from colony.tracker.http.foreign import Foreign
from colony.tracker.protocol import Tracker
from tests.fakes.bare_side import foreign_to
from tests.fakes.bare_tracker import BareTracker, Speaks
from tests.fakes.meddled import Crash, Meddled, at, tracker_of

THEIRS = "s-20260131T1819-bbbbbb"
KINDS = {
    "bare": Speaks(),
    "counted": Speaks(event_ids=False),
    "older": Speaks(older_words=True),
    "more": Speaks(relations=True, members=True),
}
ASKING = worker(
    issues=[ISSUE | {"blocks": False}], questions=[ASKS], complete=False, test=DONE["test"]
)


@dataclass
class BareShop(Shop):
    """The shop on somebody else's tracker."""

    speaks: Speaks = field(default_factory=Speaks)
    processes: list[Foreign] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.creator_names = frozenset({"anna"})
        self.bare = BareTracker(self.time.wall_ms, self.speaks, creators=self.creator_names)
        super().__post_init__()

    def tracker(self, me: Me) -> Tracker:
        return self.process(me.user, machine=me.machine)

    def process(self, user: str = "colony", *, machine: bool = True) -> Foreign:
        """A new process of this user's."""
        around = Surroundings(self.time, self.dice.fraction, self.time.pass_by)
        made = foreign_to(self.bare, user, machine=machine, around=around)
        self.processes.append(made)
        return made

    def close(self) -> None:
        super().close()
        for each in self.processes:
            each.close()
        self.bare.close()

    def theirs(self, ms: int = TTL_MS) -> None:
        """Another session's start reaches the server."""
        word = "in progress" if self.speaks.older_words else "progress"
        text = lease_texts.started(THEIRS, "box2", self.time.wall_ms() + ms)
        self.bare.move("colony", "shop", 1, word, text)

    @property
    def all_shapes(self) -> list[list[tuple[str, str, str, str]]]:
        """What happened to each ticket."""
        refs = sorted(row.ref for row in self.colony.tickets())
        return [shape(self.history(ref).events) for ref in refs]


Made = Callable[..., BareShop]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Made]:
    made: list[BareShop] = []

    def shop(speaks: Speaks = KINDS["bare"]) -> BareShop:
        made.append(BareShop(tmp_path / f"shop{len(made)}", speaks=speaks))
        return made[-1]

    yield shop
    for each in made:
        each.close()


@pytest.mark.parametrize("speaks", KINDS.values(), ids=KINDS)
def test_a_whole_session(make: Made, speaks: Speaks) -> None:
    shop = make(speaks)
    assert shop.work().facts.outcome == Outcome.POSTED
    assert shop.state == "review"
    assert [each[0] for each in shape(shop.history().events)] == [
        "created", "state", "comment", "state",
    ]  # fmt: skip
    assert "· started ·" in shop.told()[0]
    assert "colony-report:" in shop.told()[1]
    word = "awaiting creator" if speaks.older_words else "review"
    assert shop.bare.tickets["shop", 1]["state"] == word
    # Sent back, it is work again, and taken again.
    shop.moves("reopened", "It squeaks.")
    assert shop.work().facts.outcome == Outcome.POSTED
    assert shop.state == "review"


@pytest.mark.parametrize("speaks", KINDS.values(), ids=KINDS)
def test_questions_and_problems_are_filed(make: Made, speaks: Speaks) -> None:
    shop = make(speaks)
    shop.play(work=ASKING, check=asked())
    shop.work()
    rows = {row.ref: row for row in shop.colony.tickets()}
    states = {row.state for row in rows.values() if row.ref != SHOP}
    assert states == {"open", "pending"}
    [question] = [row for row in rows.values() if row.state == "pending"]
    assert (question.parent is not None) == speaks.relations
    survey = look(shop.colony, shop.bench(shop.folder_of("none")).view)
    assert survey.has_relations == speaks.relations


def asked() -> list[dict[str, object]]:
    ruling = {"index": 0, "ruling": "ask", "reason": "it changes the gate", "answer": ""}
    return verdict(questions=[ruling])


def writes_of(shop: BareShop) -> int:
    return sum(method != "GET" for method, _ in shop.bare.requests)


@pytest.mark.parametrize("speaks", KINDS.values(), ids=KINDS)
def test_a_lost_answer_at_each_write_posts_once(make: Made, speaks: Speaks) -> None:
    calm = make(speaks)
    calm.play(work=ASKING, check=asked())
    before = writes_of(calm)
    calm.work()
    count = writes_of(calm) - before
    assert count >= 5
    shop = make(speaks)
    shop.play(work=ASKING, check=asked())
    lost: set[tuple[str, str]] = set()

    def loses(method: str, path: str) -> bool:
        fresh = method != "GET" and (method, path) not in lost
        if fresh:
            lost.add((method, path))
        return fresh

    shop.bare.loses = loses
    assert shop.work().facts.outcome == calm_outcome(calm)
    assert len(lost) >= 4
    assert shop.all_shapes == calm.all_shapes


def calm_outcome(shop: BareShop) -> object:
    [session] = shop.sessions
    return shop.facts(session).outcome


@pytest.mark.parametrize("speaks", KINDS.values(), ids=KINDS)
def test_a_process_that_dies_at_any_write_posts_once(make: Made, speaks: Speaks) -> None:
    """The next one remembers nothing: the history alone says what was written."""
    calm = make(speaks)
    door = Meddled(calm.colony)
    calm.play(work=ASKING, check=asked())
    calm.go_by(calm.new().session, tracker_of(door))
    assert len(door.writes) >= 5
    for number in range(1, len(door.writes) + 1):
        shop = make(speaks)
        shop.play(work=ASKING, check=asked())
        session = shop.new().session

        def die() -> None:
            raise Crash

        with pytest.raises(Crash):
            shop.go_by(session, tracker_of(Meddled(shop.process(), at("after", number, die))))
        ended = shop.go_by(session, shop.process())
        assert ended.facts.outcome == calm_outcome(calm), number
        assert [each.status for each in ended.facts.outbox] == ["done"] * len(ended.facts.outbox)
        assert shop.all_shapes == calm.all_shapes, number


@pytest.mark.parametrize("state", ["pending", "open", "done"])
@pytest.mark.parametrize("speaks", KINDS.values(), ids=KINDS)
def test_a_persons_move_before_the_outcome_stays(make: Made, speaks: Speaks, state: State) -> None:
    shop = make(speaks)

    def moves() -> None:
        shop.moves(state, "I decide.")

    # The second write is the report's comment.
    shop.work(meddle=at("before", 2, moves))
    assert shop.state == state
    assert [each[1:] for each in shape(shop.history().events)][-1] != (
        "colony",
        "progress",
        "review",
    )
    assert any("colony-report:" in text for text in shop.told())


@pytest.mark.parametrize("speaks", KINDS.values(), ids=KINDS)
def test_a_persons_comment_in_the_gap_is_no_loss(make: Made, speaks: Speaks) -> None:
    shop = make(speaks)

    def meanwhile(path: str) -> None:
        shop.bare.before_write = lambda path: None
        shop.bare.comment("anna", "shop", 1, "Mind the hinge.")

    shop.bare.before_write = meanwhile
    assert shop.work().facts.outcome == Outcome.POSTED
    assert shop.state == "review"


# --- two that take at once -----------------------------------------------------------------------


@pytest.mark.parametrize("speaks", KINDS.values(), ids=KINDS)
def test_who_comes_second_to_a_take_writes_nothing_more(make: Made, speaks: Speaks) -> None:
    shop = make(speaks)

    def meanwhile(path: str) -> None:
        shop.bare.before_write = lambda path: None
        shop.theirs()

    shop.bare.before_write = meanwhile
    before = writes_of(shop)
    with pytest.raises(Busy, match=THEIRS):
        shop.work()
    assert writes_of(shop) == before + 1
    assert sum("· started ·" in text for text in shop.told()) == 2
    held = lease_of(shop.history().events)
    assert isinstance(held, Lease)
    assert held.session == THEIRS
    assert shop.sessions == []


@pytest.mark.parametrize("speaks", KINDS.values(), ids=KINDS)
def test_who_comes_first_to_a_take_goes_on(make: Made, speaks: Speaks) -> None:
    """The other one's start is void: it comes while this one's lease lives."""
    shop = make(speaks)
    reads = []

    def meanwhile(path: str) -> None:
        # The first read after our own start has been written.
        if any("· started ·" in each["text"] for each in shop.bare.tickets["shop", 1]["events"]):
            reads.append(path)
            if len(reads) == 1:
                shop.theirs()

    shop.bare.before_read = meanwhile
    ended = shop.work()
    assert ended.facts.outcome == Outcome.POSTED
    assert ended.facts.lease is not None
    started = [each for each in shop.history().events if "· started ·" in each.text]
    assert len(started) == 2
    assert ended.facts.lease.token == started[0].id
    assert shop.state == "review"


def test_a_salvage_is_decided_by_the_order_too(make: Made) -> None:
    shop = make()

    def meanwhile(path: str) -> None:
        shop.bare.before_write = lambda path: None
        shop.theirs()

    holder = shop.holder("s-20260131T1819-aaaaaa")
    shop.bare.before_write = meanwhile
    with pytest.raises(Busy, match=THEIRS):
        salvage(holder, shop.history())
    # Once theirs has ended, the ticket can be had.
    shop.bare.move("anna", "shop", 1, "open")
    found = salvage(holder, shop.history(Ref("shop", 1)))
    assert found is not None
    assert found.lease.token == shop.history().events[-1].id
