"""Any sequence of writes by anybody, for properties that hold after every one of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from colony.core.ticket import STATES, Me, NewTicket, Ref
from colony.errors import ColonyError
from colony.tracker.writes import Block, Comment, Edit, Move, SetParent, TicketWrite
from tests.fakes.served import Store

PROJECTS = ("shop", "barn")
_REFS = st.builds(Ref, st.sampled_from(PROJECTS), st.integers(1, 4))
_WORDS = st.sampled_from(("one", "two", "/prio 3", "/prio 9"))
WRITES = st.one_of(
    st.builds(NewTicket, st.sampled_from(PROJECTS), _WORDS),
    st.tuples(_REFS, st.builds(Comment, _WORDS)),
    st.tuples(_REFS, st.builds(Move, st.sampled_from(STATES))),
    st.tuples(_REFS, st.builds(Edit, _WORDS | st.none(), _WORDS | st.none())),
    st.tuples(_REFS, st.builds(Block, _REFS, st.booleans())),
    st.tuples(_REFS, st.builds(SetParent, _REFS | st.none())),
    st.tuples(st.sampled_from(PROJECTS), st.sampled_from(("bob", "mia")),
              st.sampled_from(("admin", "edit", "use", None))),
    st.sampled_from(("bob", "mia")),
)  # fmt: skip
"""A new ticket, a write to one, a member's role, or a user who becomes an owner."""


@dataclass
class Hand:
    """Writes to a store as its owner `anna`, as `bob` or as the machine `colony`."""

    store: Store
    keys: itertools.count[int] = field(default_factory=itertools.count)

    def write(self, who: str, what: Any) -> bool:
        """Whether it was allowed."""
        me = self.store.user(who, owner=who == "anna", machine=who == "colony")
        try:
            self._write(me, what)
        except ColonyError:
            return False
        return True

    def _write(self, me: Me, what: Any) -> None:
        service, key = self.store.service, f"any {next(self.keys)}"
        match what:
            case NewTicket():
                service.create(me, what, key=key)
            case (Ref() as ref, write):
                wanted: TicketWrite = write
                service.write(me, ref, wanted, key=key)
            case (str(project), str(user), role):
                service.set_member(me, project, user, role, key=key)
            case str(user):
                self.store.user(user, owner=True)
            case _:
                raise AssertionError(what)
