"""Tokens of a store, owners made later, and the version that tells whether anything changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from edges import DERIVE, Cast, Clock, EmbeddedEdge, everything, in_memory, refuses
from hypothesis import given
from hypothesis import strategies as st

from colony.core.records import HostRecord, SessionRecord, TokenRow
from colony.core.ticket import STATES, Me, NewTicket, Ref
from colony.errors import ColonyError, Forbidden, Invalid, NotFound
from colony.tracker.copies import backup
from colony.tracker.places import TIMEOUT_S, engine_at
from colony.tracker.service import Service
from colony.tracker.tokens import Tokens

pytestmark = pytest.mark.over("memory", "http")

SECRET = "tkt_" + "Az09-_" * 7 + "x"
OTHER = "tkt_" + "b" * 43


class Store:
    """A tracker's file with its tokens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        self.clock = Clock()
        engine = engine_at(self.url, create=True, timeout_s=TIMEOUT_S)
        self.service = Service(engine, self.clock, DERIVE)
        self.tokens = Tokens(engine, self.clock)

    def user(self, name: str, *, machine: bool = False, owner: bool = False) -> Me:
        return self.service.sign_in(Me(name, "", machine, owner))

    def bytes(self) -> bytes:
        return b"".join(each.read_bytes() for each in self.path.parent.iterdir())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "colony.db")
    with closing(made.service):
        yield made


@pytest.mark.parametrize(
    ("machine", "owner"), [(False, False), (False, True), (True, False)], ids=str
)
def test_a_token_says_who_it_is(store: Store, machine: bool, owner: bool) -> None:
    me = store.user("zoe", machine=machine, owner=owner)
    name = store.tokens.make(me, SECRET)
    assert store.tokens.holder(SECRET) == Me("zoe", me.user_id, machine, owner)
    assert store.tokens.every() == (
        TokenRow(name, "zoe", machine, owner, store.clock.ms, None, None),
    )  # fmt: skip


def test_only_the_hash_lies_in_the_file(store: Store) -> None:
    me = store.user("zoe")
    store.tokens.make(me, SECRET)
    kept = store.bytes()
    hashed = hashlib.sha256(SECRET.encode()).hexdigest()
    assert hashed.encode() in kept
    assert SECRET.encode() not in kept
    assert SECRET.removeprefix("tkt_").encode() not in kept
    assert hashed not in repr(store.tokens.every())
    assert SECRET not in repr(store.tokens.every())
    # The hash is no token: who reads the file cannot show it to a server.
    assert store.tokens.holder(hashed) is None
    assert store.tokens.holder(f"tkt_{hashed}"[:47]) is None


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "tkt_",
        OTHER,
        SECRET[:-1],
        SECRET + "x",
        SECRET + "\n",
        " " + SECRET,
        SECRET.upper(),
        SECRET.swapcase(),
        "tkt_" + "é" * 43,
        "tkt_" + "\u0661" * 43,
        "tkt_" + "%" * 43,
        "tkt_" + "\0" * 43,
        "tkt_" + "\ud800" * 43,
        "' OR 1=1 --",
        "x" * 10**6,
    ],
)
def test_every_other_secret_is_nobodys(store: Store, shown: str) -> None:
    store.tokens.make(store.user("zoe"), SECRET)
    assert store.tokens.holder(shown) is None


def test_a_token_ends_at_its_time(store: Store) -> None:
    me = store.user("zoe")
    end = store.clock.ms + 1000
    store.tokens.make(me, SECRET, end)
    store.tokens.make(me, OTHER)
    store.clock.ms = end - 1
    assert store.tokens.holder(SECRET) == me
    for store.clock.ms in (end, end + 1, end + 10**12):
        assert store.tokens.holder(SECRET) is None
        assert store.tokens.holder(OTHER) == me
    assert [each.expires_ms for each in store.tokens.every()] == [end, None]


@pytest.mark.parametrize("end", [0, -1, -(10**40), 1_700_000_000_000, 2**63, 10**40])
def test_an_end_that_cannot_be_is_refused(store: Store, end: int) -> None:
    me = store.user("zoe")
    with pytest.raises(Invalid):
        store.tokens.make(me, SECRET, end)
    assert store.tokens.every() == ()
    assert store.tokens.holder(SECRET) is None


def test_a_revoked_token_is_gone_at_once_and_for_good(store: Store) -> None:
    me = store.user("zoe")
    first, second = store.tokens.make(me, SECRET), store.tokens.make(me, OTHER)
    assert first != second
    store.clock.ms += 5
    store.tokens.revoke(first)
    assert store.tokens.holder(SECRET) is None
    assert store.tokens.holder(OTHER) == me
    assert [each.revoked_ms for each in store.tokens.every()] == [store.clock.ms, None]
    with pytest.raises(NotFound, match=first):
        store.tokens.revoke(first)
    for unknown in ("", "t99", OTHER, "%", "a\nb"):
        with pytest.raises(NotFound) as refusal:
            store.tokens.revoke(unknown)
        assert len(str(refusal.value).splitlines()) == 1
        assert OTHER not in str(refusal.value)


def test_a_revocation_is_seen_by_every_process(store: Store) -> None:
    name = store.tokens.make(store.user("zoe"), SECRET)
    elsewhere = Store(store.path)
    with closing(elsewhere.service):
        assert elsewhere.tokens.holder(SECRET) is not None
        store.tokens.revoke(name)
        assert elsewhere.tokens.holder(SECRET) is None


@pytest.mark.parametrize("secret", ["", "hunter2", "tkt_short", SECRET + "x", "tkt_" + "é" * 43])
def test_a_secret_that_could_be_guessed_is_not_given_out(store: Store, secret: str) -> None:
    with pytest.raises(Invalid) as refusal:
        store.tokens.make(store.user("zoe"), secret)
    assert not secret or secret not in str(refusal.value)
    assert store.tokens.every() == ()


def test_tokens_are_no_history(store: Store) -> None:
    """Nobody sees in a row or in the feed that somebody got one."""
    me = store.user("zoe", owner=True)
    store.service.create(me, NewTicket("shop", "x"), key="a")
    before = store.service.version()
    store.tokens.revoke(store.tokens.make(me, SECRET))
    assert store.service.version() == before


def test_a_token_follows_its_user(store: Store) -> None:
    """Who is made an owner later is one with the token that was there before."""
    me = store.user("zoe")
    store.tokens.make(me, SECRET)
    store.user("zoe", owner=True)
    holder = store.tokens.holder(SECRET)
    assert holder is not None
    assert holder.owner
    # And asking again without it takes nothing away.
    assert store.user("zoe").owner


# --- owners made later ---------------------------------------------------------------------


def test_an_owner_made_later_is_admin_everywhere(cast: Cast) -> None:
    """The counter moves: `member` events without a number, one a project."""
    bob, zoe = cast.person("bob"), cast.person("zoe")
    for name in ("barn", "shop", "yard"):
        bob.add_project(name, key=name)
    bob.set_member("barn", "zoe", "use", key="z")
    bob.set_member("yard", "zoe", "admin", key="y")
    ref = bob.create(NewTicket("shop", "x"), key="t").ticket.ref
    cast.comment(zoe, ref, "/prio 4")
    refuses(Forbidden, lambda: zoe.move(ref, "done", key="d"), bob)
    end = bob.changes(0).last
    cast.person("zoe", owner=True).me()
    events = bob.changes(end).events
    told = [(e.project, e.ref, e.event.kind, e.event.text, e.event.before, e.event.after)
            for e in events]  # fmt: skip
    assert told == [
        ("barn", None, "member", "zoe", "use", "admin"),
        ("shop", None, "member", "zoe", "", "admin"),
    ]  # fmt: skip
    for name in ("barn", "shop", "yard"):
        assert ("zoe", "admin") in [(m.user, m.role) for m in bob.project(name).members]
    # Her words count, those too that she wrote before.
    assert bob.ticket(ref).ticket.priority == 4
    end = bob.changes(0).last
    cast.person("zoe", owner=True).me()
    assert bob.changes(0).last == end


def test_a_machine_is_never_an_owner(cast: Cast) -> None:
    cast.person("bob").add_project("shop", key="p")
    robot = cast.edge.tracker(Me("robot", "", machine=True, owner=True))
    assert not robot.me().owner
    ref = robot.create(NewTicket("shop", "x"), key="t").ticket.ref
    refuses(Forbidden, lambda: robot.move(ref, "done", key="d"), cast.person("bob"))
    assert "robot" not in {each.user for each in robot.project("shop").members}


# --- the version ---------------------------------------------------------------------------

REFS = st.builds(Ref, st.sampled_from(("shop", "barn")), st.integers(1, 3))
WORDS = st.sampled_from(("", "one", "two", "/prio 3", "/prio 9"))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(("shop", "barn")), WORDS),
        st.tuples(st.just("comment"), REFS, WORDS),
        st.tuples(st.just("move"), REFS, st.sampled_from(STATES)),
        st.tuples(st.just("edit"), REFS, WORDS),
        st.tuples(st.just("block"), REFS, REFS, st.booleans()),
        st.tuples(st.just("parent"), REFS, REFS | st.none()),
        st.tuples(st.just("project"), st.sampled_from(("shop", "barn", "yard"))),
        st.tuples(st.just("member"), st.sampled_from(("shop", "barn")),
                  st.sampled_from(("bob", "carol", "colony")),
                  st.sampled_from(("admin", "edit", "use", None))),
        st.tuples(st.just("owner"), st.sampled_from(("bob", "carol"))),
        st.tuples(st.just("session"), REFS),
    ),
    max_size=14,
)  # fmt: skip


def step(cast: Cast, who: str, what: tuple) -> None:  # type: ignore[type-arg]
    tracker = cast.colony if who == "colony" else cast.person(who, owner=who == "alice")
    key = cast.key()
    match what:
        case ("create", project, words):
            tracker.create(NewTicket(project, words or "x", words, source=words), key=key)
        case ("comment", ref, words):
            tracker.comment(ref, words or "x", key=key)
        case ("move", ref, state):
            tracker.move(ref, state, key=key)
        case ("edit", ref, words):
            tracker.edit(ref, subject=words or "x", summary=words, key=key)
        case ("block", ref, by, remove):
            tracker.block(ref, by, remove=remove, key=key)
        case ("parent", ref, parent):
            tracker.set_parent(ref, parent, key=key)
        case ("project", name):
            tracker.add_project(name, key=key)
        case ("member", project, user, role):
            tracker.set_member(project, user, role, key=key)
        case ("owner", user):
            cast.person(user, owner=True).me()
        case ("session", ref):
            cast.colony.put_session(SessionRecord("s", ref, "h", "new"))
            cast.colony.put_host(HostRecord("h", 1, 0))
        case _:
            raise AssertionError(what)


@given(st.lists(st.sampled_from(("alice", "bob", "colony")), min_size=14, max_size=14), STEPS)
def test_the_version_moves_with_whatever_is_shown(who, steps) -> None:  # type: ignore[no-untyped-def]
    """And stands still where nothing is: an unchanged version means unchanged answers."""
    edge = in_memory()
    with closing(edge.service):
        cast = Cast(edge)
        cast.alice.me()
        versions = {edge.service.version(): everything(cast.alice)[:4]}
        before = edge.service.version()
        for name, what in zip(who, steps, strict=False):
            cast.clock.ms += 1
            try:
                step(cast, name, what)
            except ColonyError:
                assert edge.service.version() == before or what[0] == "owner"
            shown, now = everything(cast.alice)[:4], edge.service.version()
            assert versions.setdefault(now, shown) == shown
            assert (now == before) == (shown == versions[before])
            before = now


def test_two_stores_have_no_version_in_common(tmp_path: Path) -> None:
    versions = set()
    for name in "abc":
        made = Store(tmp_path / name)
        with closing(made.service):
            versions.add(made.service.version())
            made.service.create(made.user("zoe"), NewTicket("shop", "x"), key="k")
            versions.add(made.service.version())
    assert len(versions) == 6
    assert all(re.fullmatch(r"[\x21\x23-\x7e]+", each) for each in versions), "no ETag can hold it"


def test_a_store_keeps_its_version_when_it_is_opened_again(store: Store) -> None:
    store.service.create(store.user("zoe"), NewTicket("shop", "x"), key="k")
    again = Store(store.path)
    with closing(again.service):
        assert again.service.version() == store.service.version()


def test_copies_that_went_their_own_ways_differ(store: Store, tmp_path: Path) -> None:
    """A store put back from a copy goes on from an older event: other words under the same ids."""
    zoe = store.user("zoe")
    ref = store.service.create(zoe, NewTicket("shop", "x"), key="k").ticket.ref
    for name in ("one", "two"):
        backup(store.url, tmp_path / name)
    stores = [store, Store(tmp_path / "one"), Store(tmp_path / "two")]
    versions = set()
    for at, each in enumerate(stores):
        me = each.user("zoe")
        cast = Cast(EmbeddedEdge(each.service, each.clock))
        cast.comment(cast.person(me.user), ref, f"in store {at}")
        versions.add(each.service.version())
    for each in stores[1:]:
        each.service.close()
    assert len(versions) == 3
