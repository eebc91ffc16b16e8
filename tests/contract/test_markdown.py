"""A ticket as Markdown."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from colony.core.markdown import quoted, ticket_markdown
from colony.core.ticket import Event, History, LeaseView, Ref, Related, Ticket

TICKET = Ticket(
    ref=Ref("shop", 3),
    subject="Mend the gate",
    summary="It squeaks.\n\n```\nlog\n```",
    state="progress",
    author="alice",
    user_id="u1",
    machine=False,
    source="",
    created_ms=1_767_225_600_000,
    updated_ms=1_767_225_600_000,
    last_event=3,
    version=3,
    priority=2,
    lease=LeaseView("s-1", "h1", "started", 2, 1_767_229_200_000),
    parent=Related(Ref("shop", 1), "open", "All gates"),
    children=(Related(Ref("shop", 4), "pending", "Question: which oil?"),),
    blocked_by=(Related(Ref("barn", 2), "done", "Buy oil"),),
    blocks=(Related(Ref("shop", 9), "open", "Paint"),),
)
EVENTS = (
    Event(1, "created", "alice", "u1", False, 1_767_225_600_000, TICKET.summary, "", "open"),
    Event(2, "state", "colony", "u2", True, 1_767_225_660_000, "Started.", "open", "progress"),
    Event(3, "comment", "bob", "u3", False, 1_767_225_720_000, "# Not a heading\n\tindented"),
    Event(4, "edit", "alice", "u1", False, 1_767_225_780_000, "", "Mend it", "Mend the gate"),
    Event(5, "link", "alice", "u1", False, 1_767_225_840_000, "", "", "parent shop#1"),
)

WHOLE = """\
# shop#3 · Mend the gate

- state: progress
- opened by alice, 2026-01-01 00:00 UTC
- priority: 2
- held by session s-1 on h1 (started) until 2026-01-01 01:00 UTC
- part of shop#1 (open): All gates
- child shop#4 (pending): Question: which oil?
- blocked by barn#2 (done): Buy oil
- blocks shop#9 (open): Paint

> It squeaks.
>
> ```
> log
> ```

## History

### 2026-01-01 00:00 UTC · opened · alice

### 2026-01-01 00:01 UTC · open → progress · colony (machine)

> Started.

### 2026-01-01 00:02 UTC · comment · bob

> # Not a heading
>     indented

### 2026-01-01 00:03 UTC · edited, was: Mend it · alice

### 2026-01-01 00:04 UTC · linked: parent shop#1 · alice
"""


def test_the_whole_ticket() -> None:
    assert ticket_markdown(History(TICKET, EVENTS)) == WHOLE


def test_what_was_rewritten_since_stays_in_the_history() -> None:
    first = Event(1, "created", "alice", "u1", False, 0, "It squeaked.", "", "open")
    assert "opened · alice\n\n> It squeaked." in ticket_markdown(History(TICKET, (first,)))


def test_every_line_break_is_one() -> None:
    assert quoted("a\rb\r\nc\u2028d\n") == "> a\n> b\n> c\n> d"


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_no_text_leaves_its_quote(text: str) -> None:
    lines = quoted(text).split("\n") if text.strip("\r\n") else []
    assert all(line == ">" or line.startswith("> ") for line in lines)
    assert "\r" not in quoted(text)


HOSTILE = st.text(
    st.sampled_from("a #>`-*\n\r\t\x1b\x00\u2028\u202e\ud800<|") | st.characters(), max_size=40
)


@given(HOSTILE, HOSTILE, HOSTILE, st.integers(-(10**30), 10**30))
def test_hostile_words_make_no_lines_of_their_own(
    subject: str, text: str, author: str, at_ms: int
) -> None:
    event = Event(3, "comment", author, "u3", False, at_ms, text)
    ticket = Ticket(
        Ref("shop", 3), subject, text, "open", author, "u1", False, "", at_ms, at_ms, 1, 1
    )
    shape = re.compile(
        r"# shop#3 · .*|- state: open|- opened by .*|> .*|>|## History|### .* · comment · .*|"
    )
    for line in ticket_markdown(History(ticket, (event,))).split("\n"):
        assert shape.fullmatch(line), line
        assert line == "" or line.isprintable() or "\u200d" in line or not line.isascii()
