"""What the loop keeps of the tracker says what a new look would say, and costs what has changed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colony.core.pick import pick
from colony.core.plan import PlanSettings, Quota, Room, plan
from colony.core.project import Project
from colony.core.survey import Survey
from colony.core.ticket import STATES, NewTicket, Ref
from colony.errors import NoAnswer
from colony.flow import looking
from colony.flow.looking import WHOLE_MS, Watch
from colony.flow.observe import Viewpoint, look
from colony.host.registry import Registry
from colony.tracker.embedded import Embedded
from colony.tracker.http.client import Surroundings
from colony.tracker.http.foreign import Foreign
from colony.tracker.reads import Reads
from colony.tracker.writes import Block, Comment, Edit, Move, SetParent
from tests.fakes.any_writes import PROJECTS, Hand
from tests.fakes.bare_side import foreign_to
from tests.fakes.bare_tracker import BareTracker, Speaks
from tests.fakes.pretended import HandClock
from tests.fakes.served import START_MS, Clock, Store, in_memory, store_at

SESSION = "s-20260101T0900-00000a"
LEASE = f"colony-lease: {SESSION} · host h1 · {{}} · ms {{}}"
REGISTRY = Registry({name: Project(name, concept="CONCEPT.md") for name in PROJECTS})
VIEW = Viewpoint(REGISTRY, "h1", "members", frozenset({"anna"}), max_starts=2)
VIEWS = (VIEW, replace(VIEW, max_starts=0), replace(VIEW, intake="all"),
         replace(VIEW, creator_names=frozenset()))  # fmt: skip
A, B = Ref("shop", 1), Ref("shop", 2)


@dataclass
class Asked:
    """A tracker that counts what it is asked. `then` is done after the read of that number,
    `between` between the two parts in which lists of rows come."""

    inner: Reads
    calls: list[tuple[str, tuple[object, ...]]] = field(default_factory=list)
    then: dict[int, Callable[[], object]] = field(default_factory=dict)
    between: Callable[[], object] | None = None

    def __getattr__(self, name: str) -> Any:
        there = getattr(self.inner, name)
        if name not in ("tickets", "ticket", "changes", "project", "projects"):
            return there

        def asked(*args: object, **more: object) -> Any:
            self.calls.append((name, (*args, *more.values())))
            answer = there(*args, **more)
            if name == "tickets" and self.between is not None:
                self.between()
                first = answer[: len(answer) // 2]
                seen = {row.ref for row in first}
                answer = (*first, *(row for row in there(*args, **more) if row.ref not in seen))
            self.then.pop(len(self.calls), lambda: None)()
            return answer

        return asked

    @property
    def kinds(self) -> list[str]:
        return [name for name, _ in self.calls]


@dataclass
class World:
    """A watch on a real tracker, and whoever writes there."""

    store: Store
    keys: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.use(self.store)
        self.watch = Watch(cast(Reads, self.asked))

    def use(self, store: Store) -> None:
        """The watch has another store before it from now on."""
        self.store = store
        me = store.user("colony", machine=True)
        self.tracker = Embedded(store.service, me)
        if hasattr(self, "asked"):
            self.asked.inner = self.tracker
        else:
            self.asked = Asked(self.tracker)

    @property
    def clock(self) -> Clock:
        return cast(Clock, self.store.clock)

    def write(self, who: str, what: Any) -> bool:
        return Hand(self.store, self.keys).write(who, what)

    def look(self, view: Viewpoint = VIEW) -> Survey:
        """What the watch says; it is what a new look says."""
        self.asked.calls.clear()
        found = self.watch.survey(view)
        assert found == look(self.tracker, view)
        return found

    def filled(self, count: int = 3, ms: int = 7_200_000) -> World:
        """Tickets of shop, opened long ago."""
        for at in range(count):
            assert self.write("anna", NewTicket("shop", f"Ticket {at}"))
        self.clock.ms += ms
        return self


@pytest.fixture
def world() -> Iterator[World]:
    with closed(World(in_memory())) as made:
        yield made


@contextmanager
def closed(world: World) -> Iterator[World]:
    """Whichever store it has then."""
    try:
        yield world
    finally:
        world.store.close()


# --- the same decisions ------------------------------------------------------------------------

REFS = st.builds(Ref, st.sampled_from(PROJECTS), st.integers(1, 5))
WORDS = st.sampled_from(("one", "/prio 3", "/accept", "/reject not so", "/hold"))
LEASES = st.builds(
    lambda kind, ms: LEASE.format(kind, START_MS + ms),
    st.sampled_from(("started", "renewed", "parked", "ready")),
    st.integers(0, 20_000_000),
)
SUBJECTS = st.sampled_from(("A cart", "Question: which?", "Questions of colour", "A till"))
WRITES = st.one_of(
    st.builds(NewTicket, st.sampled_from(PROJECTS), SUBJECTS, parent=REFS | st.none()),
    st.builds(NewTicket, st.sampled_from(PROJECTS), SUBJECTS, source=st.sampled_from(
        ("colony-spawn:1", "colony:question:2", "colony:issue:stranger")), parent=REFS),
    st.tuples(REFS, st.builds(Comment, WORDS | LEASES)),
    st.tuples(REFS, st.builds(Move, st.sampled_from(STATES))),
    st.tuples(REFS, st.builds(Move, st.just("progress"), LEASES)),
    st.tuples(REFS, st.builds(Edit, SUBJECTS | st.none(), WORDS | st.none())),
    st.tuples(REFS, st.builds(Block, REFS, st.booleans())),
    st.tuples(REFS, st.builds(SetParent, REFS | st.none())),
    st.tuples(st.sampled_from(PROJECTS), st.sampled_from(("bob", "mia")),
              st.sampled_from(("admin", "edit", "use", None))),
    st.sampled_from(("bob", "mia")),
)  # fmt: skip
SAYS = st.tuples(st.sampled_from(("anna", "anna", "bob", "colony", "colony")), WRITES)
STEPS = st.lists(
    st.fixed_dictionaries({
        "before": st.lists(SAYS, max_size=14),
        "during": st.lists(st.tuples(st.integers(1, 6), SAYS), max_size=3),
        "between": st.none() | SAYS,
        "forgets": st.booleans(),
        "fails": st.none() | st.none() | st.integers(1, 6),
        "ms": st.sampled_from((0, 1, 1, 1000, 600_000, 3_600_000, -5000)),
        "view": st.sampled_from(VIEWS),
    }),
    min_size=1, max_size=8,
)  # fmt: skip


def no_answer() -> None:
    raise NoAnswer("nothing was heard")


@pytest.mark.parametrize("few", [0, 8])
@settings(max_examples=60)
@given(first=st.lists(SAYS, max_size=10), steps=STEPS)
def test_what_is_kept_says_what_a_new_look_says(
    few: int, first: list[Any], steps: list[dict[str, Any]]
) -> None:
    """Whoever writes whatever, also between two reads of one look, and whatever read breaks off."""
    with closed(World(in_memory())) as world, pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "FEW", few)
        for project in (*PROJECTS, *PROJECTS, "shop"):
            world.write("anna", NewTicket(project, "A cart"))
        for who, what in first:
            world.write(who, what)
        for step in steps:
            for who, what in step["before"]:
                world.write(who, what)
                world.clock.ms += 1
            world.clock.ms += step["ms"]
            world.asked.calls.clear()
            if step["forgets"]:
                world.watch.forget()
            if step["between"] is not None:
                world.asked.between = lambda said=step["between"]: world.write(*said)
            for number, (who, what) in step["during"]:
                world.asked.then[number] = lambda who=who, what=what: world.write(who, what)
            if step["fails"] is not None:
                world.asked.then[step["fails"]] = no_answer
            with suppress(NoAnswer):
                world.watch.survey(step["view"])
            world.asked.then.clear()
            world.asked.between = None
            found = world.look(step["view"])
            assert planned(found) == planned(look(world.tracker, step["view"]))


def planned(survey: Survey) -> object:
    settings = PlanSettings(2, (8700, 8799), 10)
    return pick(survey), plan(survey, (), Quota(), Room(), settings, survey.now_ms)


def test_time_alone_changes_what_may_start(world: World) -> None:
    """Two starts within the hour are the most. When it is over, nobody has written anything."""
    world.filled(1)
    for _ in range(2):
        world.write("colony", (A, Move("progress", LEASE.format("started", START_MS))))
        world.write("anna", (A, Move("open")))
    assert [each.waits.code for each in pick(world.look()).waiting] == ["starts"]
    world.clock.ms += 3_600_001
    assert pick(world.look()).chosen is not None
    assert world.asked.kinds == ["changes"]


# --- what it costs -----------------------------------------------------------------------------


def test_nothing_new_is_one_question(world: World) -> None:
    world.filled(30)
    world.look()
    for _ in range(3):
        world.clock.ms += 60_000
        world.look()
        assert world.asked.kinds == ["changes"]


def test_one_change_reads_its_ticket_alone(world: World) -> None:
    world.filled(30)
    world.look()
    world.write("anna", (A, Comment("hello")))
    found = world.look()
    assert world.asked.kinds == ["changes", "changes", "ticket"]
    assert world.asked.calls[-1] == ("ticket", (A,))
    assert found.histories[A].events[-1].text == "hello"
    world.look()
    assert world.asked.kinds == ["changes"]


def test_relatives_of_a_ticket_that_moved_are_not_read(world: World) -> None:
    world.filled(30)
    for number in range(2, 20):
        world.write("anna", (Ref("shop", number), SetParent(A)))
    world.look()
    world.write("anna", (A, Move("done")))
    found = world.look()
    assert world.asked.kinds == ["changes", "changes", "ticket"]
    assert {row.parent.state for row in found.tickets if row.parent} == {"done"}


def test_the_other_end_of_a_new_relation_is_read(world: World) -> None:
    world.filled(30)
    world.look()
    for write in (Block(B), Block(B, remove=True), SetParent(B), SetParent(None)):
        world.write("anna", (A, write))
        world.look()
        assert world.asked.calls[2:] == [("ticket", (A,)), ("ticket", (B,))], write


def test_of_many_changes_the_rows_are_read_at_once(world: World) -> None:
    world.filled(30)
    world.write("anna", (A, Move("reopened")))
    world.look(VIEWS[1])
    first_ms = world.clock.ms + 60_000
    for number in range(1, 21):
        world.clock.ms = first_ms + number - 1
        world.write("anna", (Ref("shop", number), Comment("hello")))
    found = world.look(VIEWS[1])
    assert world.asked.calls[2:] == [("tickets", (first_ms,)), ("ticket", (A,))]
    assert found.histories[A].events[-1].text == "hello"


def test_more_than_a_page_of_changes_is_read_to_its_end(world: World) -> None:
    world.filled(2)
    world.look()
    for at in range(looking.PAGE * 2):
        world.write("anna", (A, Comment(f"word {at}")))
    world.look()
    assert world.asked.kinds == ["changes"] * 4 + ["ticket"]


def test_after_very_many_changes_it_is_read_whole(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "PAGES_MAX", 2)
    monkeypatch.setattr(looking, "PAGE", 2)
    world.filled(2)
    world.look()
    for at in range(9):
        world.write("anna", (A, Comment(f"word {at}")))
    world.look()
    assert ("tickets", ()) in world.asked.calls


def test_a_history_is_read_once(world: World) -> None:
    world.filled(3)
    world.write("anna", (A, Move("reopened")))
    world.look()
    assert ("ticket", (A,)) in world.asked.calls
    world.write("anna", (B, Comment("hello")))
    world.look()
    assert ("ticket", (A,)) not in world.asked.calls


# --- people ------------------------------------------------------------------------------------


def test_a_member_who_comes_is_seen(world: World) -> None:
    world.filled(2)
    world.write("bob", NewTicket("shop", "A stranger's wish"))
    world.write("bob", (A, Comment("/prio 5")))
    world.write("anna", NewTicket("barn", "Another project"))
    assert [each.waits.code for each in pick(world.look()).waiting] == ["stranger"]
    world.write("anna", ("shop", "bob", "admin"))
    found = world.look()
    assert ("project", ("shop",)) in world.asked.calls
    assert ("project", ("barn",)) not in world.asked.calls
    assert pick(found).waiting == ()
    chosen = pick(found).chosen
    assert chosen is not None
    assert (chosen.ticket.ref, chosen.ticket.priority) == (A, 5)


def test_people_are_read_again_for_the_names_of_another_view(world: World) -> None:
    world.filled(1)
    world.look(VIEW)
    for view in VIEWS:
        world.look(view)
        assert world.asked.kinds in (["changes"], ["changes", "ticket"])


# --- what cannot be told -----------------------------------------------------------------------


def copy_of(world: World, path: Path) -> None:
    """The store as it is now, in a file of its own."""
    engine: Any = world.store.service._engine
    engine.connection().execute(f"VACUUM INTO '{path}'")


@pytest.mark.parametrize("further", [0, 1, 5, 12])
def test_a_store_put_back_from_an_older_copy_is_read_whole(
    world: World, tmp_path: Path, further: int
) -> None:
    """Also where it has come further than before, by the time it is looked at."""
    world.filled(3)
    copy_of(world, tmp_path / "colony.db")
    for text in ("one", "two"):
        world.write("anna", (A, Move("progress", LEASE.format("started", START_MS))))
        world.write("anna", (A, Move("open", text)))
    world.look()
    world.store.close()
    world.use(store_at(f"sqlite:///{tmp_path / 'colony.db'}", world.clock))
    for at in range(further):
        world.write("anna", (B, Comment(f"later {at}")))
    world.look()
    assert ("tickets", ()) in world.asked.calls
    world.look()
    assert world.asked.kinds == ["changes"]


def test_what_happens_between_two_reads_of_a_look_is_not_lost(world: World) -> None:
    """The end of the feed is asked for first, rows and histories after it."""
    world.filled(3)
    world.asked.then = {
        number: lambda number=number: world.write("anna", (A, Comment(f"during {number}")))
        for number in range(1, 5)
    }  # fmt: skip
    world.watch.survey(VIEW)
    world.asked.then.clear()
    assert world.look().histories[A].events[-1].text.startswith("during")


@pytest.mark.parametrize("write", [
    (A, Block(B)), (B, Block(A)), (A, SetParent(B)), (A, Move("done")), (B, Move("done")),
    (A, Edit("Question: which?")), NewTicket("shop", "New", parent=A),
])  # fmt: skip
def test_what_happens_between_two_parts_of_the_list_is_not_lost(world: World, write: Any) -> None:
    world.filled(2)
    world.write("anna", (B, Block(A)) if write != (B, Block(A)) else (B, Comment("x")))
    world.write("anna", (A, SetParent(B)) if write == (A, Move("done")) else (A, Comment("x")))
    world.asked.between = lambda: world.write("anna", write)
    world.watch.survey(VIEW)
    world.asked.between = None
    world.look()


def test_a_read_that_breaks_off_is_done_again(world: World) -> None:
    world.filled(3)
    world.look()
    world.write("anna", (A, Move("reopened")))
    for number in (1, 2, 3):
        world.asked.calls.clear()
        world.asked.then = {number: no_answer}
        with pytest.raises(NoAnswer):
            world.watch.survey(VIEW)
    world.look()


def test_histories_that_were_read_before_it_breaks_off_are_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "PAGE", 2)
    world.filled(6)
    for number in range(1, 7):
        world.write("anna", (Ref("shop", number), Move("reopened")))
    # Two questions to the feed, the list, the people, and four histories before the one that fails.
    world.asked.then = {9: no_answer}
    with pytest.raises(NoAnswer):
        world.watch.survey(VIEW)
    world.look()
    assert world.asked.kinds == ["changes", "ticket", "ticket"]


def test_what_is_forgotten_is_read_whole(world: World) -> None:
    world.filled(3)
    world.look()
    world.watch.forget()
    world.look()
    assert ("tickets", ()) in world.asked.calls


# --- trackers without a feed -------------------------------------------------------------------


@dataclass
class Bare:
    """A watch on somebody else's tracker."""

    server: BareTracker
    tracker: Foreign
    clock: Clock
    own: HandClock

    def __post_init__(self) -> None:
        self.watch = Watch(self.tracker)

    def look(self) -> Survey:
        self.server.requests.clear()
        return self.watch.survey(VIEW)

    def pass_by(self, ms: int) -> None:
        self.clock.ms += ms
        self.own.s += ms / 1000

    @property
    def asked(self) -> list[str]:
        return [path for _, path in self.server.requests]


@pytest.fixture
def bare() -> Iterator[Bare]:
    clock = Clock()
    server = BareTracker(clock, Speaks(relations=True, members=True))
    with closing(server):
        for at in range(5):
            server.create("alice", {"project": "shop", "subject": f"Ticket {at}"})
            clock.ms += 10_000
        clock.ms += 7_200_000
        own = HandClock()
        with closing(foreign_to(server, around=Surroundings(own, lambda: 0.5, own.pause))) as there:
            yield Bare(server, there, clock, own)


def test_without_a_feed_nothing_new_is_one_request_for_changed_rows(bare: Bare) -> None:
    first = bare.look()
    newest = max(row.updated_ms for row in first.tickets)
    for _ in range(3):
        bare.pass_by(60_000)
        assert bare.look().tickets == first.tickets
        assert bare.asked == [f"/api/tickets?since={newest - 2000}"]


def test_without_a_feed_a_change_reads_its_ticket(bare: Bare) -> None:
    bare.look()
    bare.pass_by(60_000)
    bare.server.move("alice", "shop", 2, "reopened", "not so")
    bare.pass_by(10_000)
    found = bare.look()
    assert set(bare.asked[1:]) == {"/api/tickets/shop/2"}
    assert len(bare.asked) <= 3
    assert found.histories[B].events[-1].text == "not so"
    bare.pass_by(10_000)
    bare.look()
    assert len(bare.asked) == 1
    bare.server.comment("alice", "shop", 2, "and not so either")
    bare.pass_by(10_000)
    assert bare.look().histories[B].events[-1].text == "and not so either"


def test_without_a_feed_a_change_that_shows_late_is_seen(bare: Bare) -> None:
    """It became visible after the last look, with a time before it."""
    bare.server.move("alice", "shop", 1, "reopened")
    bare.look()
    bare.clock.ms -= 1500
    bare.server.comment("alice", "shop", 2, "said before it was shown")
    bare.server.move("alice", "shop", 3, "reopened", "so was this")
    bare.clock.ms += 1500
    bare.pass_by(60_000)
    found = bare.look()
    assert found.histories[Ref("shop", 3)].events[-1].text == "so was this"
    assert found.tickets == look(bare.tracker, VIEW).tickets


def test_without_a_feed_relatives_follow(bare: Bare) -> None:
    bare.server.relate("alice", "shop", 1, "blocked-by", {"project": "shop", "number": 2})
    assert "blocked" in [each.waits.code for each in pick(bare.look()).waiting]
    bare.pass_by(60_000)
    bare.server.move("alice", "shop", 2, "done")
    bare.pass_by(60_000)
    found = bare.look()
    assert pick(found).waiting == ()
    assert found.tickets == look(bare.tracker, VIEW).tickets


def test_without_a_feed_it_is_read_whole_now_and_then(bare: Bare) -> None:
    """Who came, and what was deleted, nothing else tells."""
    bare.look()
    bare.server.members["bob"] = "edit"
    del bare.server.tickets["shop", 5]
    bare.pass_by(WHOLE_MS - 2000)
    assert len(bare.look().tickets) == 5
    bare.pass_by(4000)
    found = bare.look()
    assert len(found.tickets) == 4
    assert "bob" in found.people["shop"].editor_names
    assert "/api/tickets" in bare.asked


def test_a_ticket_that_is_gone_does_not_keep_the_others_from_being_seen(bare: Bare) -> None:
    bare.look()
    bare.pass_by(60_000)
    bare.server.comment("alice", "shop", 2, "hello")

    def gone(path: str) -> None:
        if path == "/api/tickets/shop/2":
            bare.server.tickets.pop(("shop", 2), None)

    bare.server.before_read = gone
    assert len(bare.look().tickets) == 4
