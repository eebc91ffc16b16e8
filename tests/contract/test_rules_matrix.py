"""Every write of every role on a ticket in every state, against the table of `docs/api.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from edges import Cast, event_of, everything, refuses

from colony.core.ticket import ROLES, STATES, Member, NewTicket, Ref, Role, State
from colony.errors import Forbidden, Invalid, NotFound
from colony.tracker.protocol import Tracker

pytestmark = pytest.mark.over("memory", "http")

Who = str
WHO: tuple[Who, ...] = ("owner", "admin", "edit", "use", "none", "machine")
MAY_EDIT = {"owner", "admin", "edit", "machine"}
MAY_RULE = {"owner", "admin"}

# A row: the state a ticket is in; a column: the state it is moved to, in the order of STATES
# (open progress review pending done reopened canceled). `=` is the state that stands.
CREATOR = """
open      = + + + + + +
progress  + = + + + + +
review    + + = + + + +
pending   + + + = + + +
done      + + + + = + +
reopened  + + + + + = +
canceled  + + + + + + =
"""
EDITOR = """
open      = + + + - - -
progress  + = + + - - -
review    + + = + - - -
pending   + + + = - - -
done      - - - - = - -
reopened  + + + + - = -
canceled  - - - - - - =
"""
USER = """
open      = - + - - - -
progress  - = - - - - -
review    + - = - - - -
pending   - - - = - - -
done      - - - - = - -
reopened  - - - - - = -
canceled  - - - - - - =
"""
STRANGER = USER.replace("+", "-")
HELD_FROM_MACHINE = EDITOR.replace("pending   + + +", "pending   - - -")
TABLES = {
    "owner": CREATOR,
    "admin": CREATOR,
    "edit": EDITOR,
    "use": USER,
    "none": STRANGER,
    "machine": HELD_FROM_MACHINE,
}


def cells(table: str) -> Iterator[tuple[State, State, str]]:
    rows = [line.split() for line in table.strip().splitlines()]
    assert [row[0] for row in rows] == list(STATES)
    for before, row in zip(STATES, rows, strict=True):
        for after, cell in zip(STATES, row[1:], strict=True):
            yield before, after, cell


def actor(cast: Cast, who: Who) -> Tracker:
    """Somebody who is that in shop; alice owns the tracker, and is no member of shop."""
    match who:
        case "owner":
            olga = cast.person("olga", owner=True)
            olga.me()
            return olga
        case "machine":
            return cast.colony
        case "none":
            return cast.person("nora")
        case _:
            return cast.member(who, who)


@pytest.fixture
def shop(cast: Cast) -> Ref:
    """A ticket of shop, whose first admin is carol, and one of barn for relations."""
    cast.person("carol").add_project("shop", key="p")
    cast.ticket(project="barn")
    return cast.ticket()


@pytest.mark.parametrize("who", WHO)
def test_every_move(cast: Cast, shop: Ref, who: Who) -> None:
    mover, alice = actor(cast, who), cast.alice
    for before, after, cell in cells(TABLES[who]):
        alice.move(shop, before, key=cast.key())
        if cell == "-":
            move = lambda to=after: mover.move(shop, to, text="why", key="m")  # noqa: E731
            line = refuses(Forbidden, move, alice)
            assert mover.me().user in line
            assert len(line.splitlines()) == 1
            continue
        made = event_of(mover.move(shop, after, text="why", key=cast.key()))
        event = alice.ticket(shop).events[-1]
        assert (event.id, event.text, event.machine) == (made, "why", who == "machine")
        assert (event.author, event.user_id) == (mover.me().user, mover.me().user_id)
        if cell == "=":
            assert event.kind == "comment"
        else:
            assert (event.kind, event.before, event.after) == ("state", before, after)
        assert alice.ticket(shop).ticket.state == after


def test_a_machine_leads_out_of_what_a_machine_set(cast: Cast, shop: Ref) -> None:
    """As `edit`, from every state that a machine can reach by itself, `pending` among them."""
    other = actor(cast, "machine")
    for before, after, cell in cells(EDITOR):
        if before in ("done", "reopened", "canceled"):
            continue
        cast.alice.move(shop, "open" if before != "open" else "review", key=cast.key())
        assert event_of(other.move(shop, before, key=cast.key())) > 0
        if cell == "-":
            move = lambda to=after: cast.colony.move(shop, to, key="m")  # noqa: E731
            refuses(Forbidden, move, cast.alice)
        elif cell == "+":
            assert event_of(cast.colony.move(shop, after, key=cast.key())) > 0


def test_an_editor_leads_out_of_what_a_person_held(cast: Cast, shop: Ref) -> None:
    cast.alice.move(shop, "pending", key="a")
    assert event_of(cast.member("bob", "edit").move(shop, "open", key="b")) > 0


Edit = Callable[[Tracker, Ref, str], object]
BARN = Ref("barn", 1)
EDITS: dict[str, Edit] = {
    "subject": lambda who, ref, key: who.edit(ref, subject=f"New {key}", key=key),
    "summary": lambda who, ref, key: who.edit(ref, summary=f"New {key}", key=key),
    "block": lambda who, ref, key: who.block(ref, BARN, key=key),
    "unblock": lambda who, ref, key: who.block(ref, BARN, remove=True, key=key),
    "parent": lambda who, ref, key: who.set_parent(ref, BARN, key=key),
    "no parent": lambda who, ref, key: who.set_parent(ref, None, key=key),
}


@pytest.mark.parametrize("who", WHO)
def test_every_edit_in_every_state(cast: Cast, shop: Ref, who: Who) -> None:
    writer, alice = actor(cast, who), cast.alice
    for state in STATES:
        alice.move(shop, state, key=cast.key())
        for name, edit in EDITS.items():
            if who in MAY_EDIT:
                assert event_of(edit(writer, shop, cast.key())) > 0, (state, name)
                assert alice.ticket(shop).events[-1].author == writer.me().user
                continue
            # What there would be to take away is there.
            if name in ("unblock", "no parent"):
                EDITS[{"unblock": "block"}.get(name, "parent")](alice, shop, cast.key())
            refuses(Forbidden, lambda edit=edit: edit(writer, shop, "e"), alice)  # type: ignore[misc]


@pytest.mark.parametrize("who", WHO)
def test_words_and_tickets_are_everybodys(cast: Cast, shop: Ref, who: Who) -> None:
    writer, alice = actor(cast, who), cast.alice
    for state in STATES:
        alice.move(shop, state, key=cast.key())
        made = event_of(writer.comment(shop, "hello", key=cast.key()))
        assert alice.ticket(shop).events[-1].id == made
        assert alice.ticket(shop).ticket.state == state
    own = writer.create(NewTicket("shop", "Mine"), key="mine")
    assert own.fresh
    assert (own.ticket.state, own.ticket.author) == ("open", writer.me().user)
    assert own.ticket.machine == (who == "machine")


@pytest.mark.parametrize("who", ("use", "none"))
def test_who_opened_a_ticket_may_not_edit_it_for_that(cast: Cast, shop: Ref, who: Who) -> None:
    writer, alice = actor(cast, who), cast.alice
    own = writer.create(NewTicket("shop", "Mine"), key="mine").ticket.ref
    for edit in EDITS.values():
        refuses(Forbidden, lambda edit=edit: edit(writer, own, "e"), alice)  # type: ignore[misc]
    refuses(Forbidden, lambda: writer.move(own, "canceled", key="c"), alice)


@pytest.mark.parametrize("who", WHO)
def test_the_first_state_is_a_move_from_open(cast: Cast, shop: Ref, who: Who) -> None:
    writer = actor(cast, who)
    for before, after, cell in cells(TABLES[who]):
        if before != "open":
            continue
        new = NewTicket("shop", "x", state=after)
        if cell == "-":
            refuses(Forbidden, lambda new=new: writer.create(new, key="c"), cast.alice)  # type: ignore[misc]
        else:
            assert writer.create(new, key=cast.key()).ticket.state == after


@pytest.mark.parametrize("who", WHO)
def test_a_parent_at_birth_is_a_relation(cast: Cast, shop: Ref, who: Who) -> None:
    writer = actor(cast, who)
    new = NewTicket("shop", "x", parent=shop)
    if who in MAY_EDIT:
        assert writer.create(new, key="c").ticket.parent == cast.alice.ticket(shop).ticket.related()
    else:
        refuses(Forbidden, lambda: writer.create(new, key="c"), cast.alice)


# --- members and projects ------------------------------------------------------------------


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("role", [*ROLES, None])
def test_members_are_the_creators_to_choose(
    cast: Cast, shop: Ref, who: Who, role: Role | None
) -> None:
    writer, alice = actor(cast, who), cast.alice
    before: Role = "use" if role != "use" else "edit"
    cast.member("mia", before)
    call = lambda: writer.set_member("shop", "mia", role, key="m")  # noqa: E731
    if who not in MAY_RULE:
        assert writer.me().user in refuses(Forbidden, call, alice)
        return
    start = alice.changes(0).last
    info = call()
    assert info == alice.project("shop")
    assert [each.role for each in info.members if each.user == "mia"] == ([role] if role else [])
    [told] = alice.changes(start).events
    event = told.event
    assert (told.project, told.ref, event.kind, event.text) == ("shop", None, "member", "mia")
    assert (event.before, event.after, event.author) == (before, role or "", writer.me().user)


@pytest.mark.parametrize("who", ("use", "edit", "none", "machine"))
def test_nobody_makes_himself_more(cast: Cast, shop: Ref, who: Who) -> None:
    writer = actor(cast, who)
    for role in (*ROLES, None):
        call = lambda role=role: writer.set_member("shop", writer.me().user, role, key="m")  # noqa: E731
        refuses(Forbidden, call, cast.alice)


def test_an_admin_is_one_in_his_project_alone(cast: Cast, shop: Ref) -> None:
    bob = cast.person("bob")
    bob.add_project("yard", key="y")
    assert event_of(bob.move(cast.ticket(project="yard"), "done", key="a")) > 0
    refuses(Forbidden, lambda: bob.move(shop, "done", key="b"), cast.alice)
    refuses(Forbidden, lambda: bob.set_member("shop", "bob", "use", key="c"), cast.alice)


def test_a_role_taken_away_is_gone_at_once(cast: Cast, shop: Ref) -> None:
    bob = cast.member("bob", "admin")
    assert event_of(bob.move(shop, "done", key="a")) > 0
    cast.alice.set_member("shop", "bob", "edit", key="b")
    refuses(Forbidden, lambda: bob.move(shop, "open", key="c"), cast.alice)
    refuses(Forbidden, lambda: bob.set_member("shop", "bob", "admin", key="d"), cast.alice)
    cast.alice.set_member("shop", "bob", None, key="e")
    refuses(Forbidden, lambda: bob.edit(shop, subject="x", key="f"), cast.alice)
    assert event_of(bob.comment(shop, "still here", key="g")) > 0


@pytest.mark.parametrize("role", ["edit", "use", None])
def test_an_owner_stays_an_admin_everywhere(cast: Cast, shop: Ref, role: Role | None) -> None:
    """What the feed says of members adds up to what the project shows."""
    cast.alice.me()
    call = lambda: cast.person("carol").set_member("shop", "alice", role, key="m")  # noqa: E731
    assert "alice owns the tracker" in refuses(Invalid, call, cast.alice)
    assert event_of(cast.alice.move(shop, "done", key="d")) > 0


@pytest.mark.parametrize("who", WHO)
def test_whoever_makes_a_project_decides_in_it(cast: Cast, shop: Ref, who: Who) -> None:
    maker, alice = actor(cast, who), cast.alice.me()
    start = cast.alice.changes(0).last
    info = maker.add_project("yard", key="y")
    admins = {each.user for each in info.members if each.role == "admin"}
    if who == "machine":
        assert admins == {"alice"}
    else:
        assert admins == {"alice", maker.me().user}
    assert all(each.role == "admin" for each in info.members)
    assert Member("alice", alice.user_id, "admin") in info.members
    events = cast.alice.changes(start).events
    assert events, "the counter did not move"
    assert {(each.project, each.ref, each.event.kind) for each in events} == {
        ("yard", None, "member"),
    }  # fmt: skip


@pytest.mark.parametrize("who", WHO)
def test_the_first_ticket_makes_its_project(cast: Cast, shop: Ref, who: Who) -> None:
    maker = actor(cast, who)
    ref = maker.create(NewTicket("yard", "x"), key="y").ticket.ref
    assert ref == Ref("yard", 1)
    ruled = lambda: maker.set_member("yard", "mia", "use", key="m")  # noqa: E731
    if who == "machine":
        refuses(Forbidden, ruled, cast.alice)
    else:
        assert "mia" in {each.user for each in ruled().members}
    assert event_of(cast.alice.move(ref, "done", key="d")) > 0


def test_a_project_that_is_there_is_nobody_elses(cast: Cast, shop: Ref) -> None:
    before = everything(cast.alice)
    nora = cast.person("nora")
    assert nora.add_project("shop", key="p") == cast.alice.project("shop")
    assert everything(cast.alice) == before
    refuses(Forbidden, lambda: nora.set_member("shop", "nora", "admin", key="m"), cast.alice)


def test_a_refused_first_ticket_makes_no_project(cast: Cast) -> None:
    """The machine may not make one without an owner; a bad ticket makes none either."""
    refuses(Forbidden, lambda: cast.colony.create(NewTicket("yard", "x"), key="a"), cast.colony)
    new = NewTicket("yard", "x", parent=Ref("yard", 1))
    refuses(Invalid, lambda: cast.alice.create(new, key="b"), cast.alice)
    assert cast.alice.projects() == {}
    with pytest.raises(NotFound):
        cast.alice.project("yard")


@pytest.mark.parametrize("who", WHO)
def test_everybody_reads_everything(cast: Cast, shop: Ref, who: Who) -> None:
    reader = actor(cast, who)
    reader.me()
    assert everything(reader) == everything(cast.alice)
    assert reader.ticket(shop) == cast.alice.ticket(shop)
