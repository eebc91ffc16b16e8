"""`colony ticket`: what a person does with tickets, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.conftest import Colony


def test_the_first_ticket_makes_the_tracker_and_says_so(colony: Colony) -> None:
    colony.register("shop")
    done = colony("ticket", "new", "A cart", "--summary", "With wheels.")
    assert done.code == 0
    assert done.lines == [
        f"INIT tracker made: {colony.home}/colony.db",
        "TICKET shop#1 open — A cart",
    ]
    assert (colony.home / "colony.db").stat().st_mode & 0o777 == 0o600
    assert colony("ticket", "new", "Another").lines == ["TICKET shop#2 open — Another"]


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["show", "shop", "1"],
        ["comment", "shop", "1", "x"],
        ["answer", "shop", "1", "x"],
        ["state", "shop", "1", "done"],
        ["edit", "shop", "1", "--subject", "x"],
        ["block", "shop", "1", "shop", "2"],
        ["parent", "shop", "1", "shop", "2"],
    ],
)
def test_other_verbs_say_that_there_is_no_tracker(colony: Colony, words: list[str]) -> None:
    done = colony("ticket", *words)
    assert done.code == 4
    assert f"{colony.home}/colony.db" in done.error
    assert not colony.home.exists()


def test_which_project_a_ticket_goes_to(colony: Colony) -> None:
    none = colony("ticket", "new", "x")
    assert (none.code, none.error) == (
        2,
        "ERROR --project is needed: no project is registered (colony init makes one)",
    )
    colony.register("shop")
    colony.register("lib")
    many = colony("ticket", "new", "x")
    assert (many.code, many.error) == (2, "ERROR --project is needed: one of lib, shop")
    typo = colony("ticket", "new", "x", "--project", "shpo")
    assert typo.code == 0
    assert typo.error == "WARNING project shpo has no registry file (did you mean shop?)"
    assert colony("ticket", "new", "x", "--project", "Not valid").code in (2, 3)


def test_a_list_hides_what_is_closed(shop: Colony) -> None:
    shop("ticket", "new", "Old")
    shop("ticket", "state", "shop", "2", "canceled")
    done = shop("ticket", "list")
    assert done.lines == [
        "TICKET shop#1  open  ·  A cart",
        "TICKETS: 1, 1 done or canceled (--all shows them)",
    ]
    assert len(shop("ticket", "list", "--all").lines) == 3
    assert "Old" in shop("ticket", "list", "--state", "canceled").out
    assert shop("ticket", "list", "--project", "nowhere").code == 3
    wrong = shop("ticket", "list", "--state", "opne")
    assert (wrong.code, "did you mean open?" in wrong.error) == (2, True)


def test_a_list_in_json(shop: Colony) -> None:
    row, count = shop("ticket", "list", "--json").objects
    assert (row["kind"], row["ticket"], row["state"]) == ("ticket", "shop#1", "open")
    assert (row["author"], row["subject"], row["blockedBy"]) == ("anna", "A cart", [])
    assert (count["kind"], count["shown"], count["hidden"]) == ("tickets", 1, 0)


def test_a_ticket_is_shown_with_its_history(shop: Colony) -> None:
    shop("ticket", "comment", "shop", "1", "-", stdin="Zwei\n\nZeilen ü\n".encode())
    shop("ticket", "state", "shop", "1", "pending", "--text", "waits for paint")
    shop("ticket", "edit", "shop", "1", "--subject", "A red cart", "--summary", "Red.")
    done = shop("ticket", "show", "shop", "1")
    assert done.code == 0
    assert done.lines[0] == "TICKET shop#1 pending — A red cart"
    assert all(line.startswith("  ") or not line for line in done.lines[1:])
    for part in ("Zeilen ü", "open → pending", "waits for paint", "was: A cart", "  Red."):
        assert part in done.out
    kinds = [each["kind"] for each in shop("ticket", "show", "shop", "1", "--json").objects]
    assert kinds[0] == "ticket"
    assert kinds.count("ticket.event") == 3


def test_machine_lines_are_folded(shop: Colony) -> None:
    session = "s-20261130T1200-00ff00"
    text = f"A worker started.\n\ncolony-lease: {session} · host elm · started · ms 99"
    code = (
        "import sys; from colony.config import read; from colony.flow.wiring import trackers;"
        "from colony.cli.machine import this_machine; import os;"
        "from colony.core.ticket import Ref;"
        "s = read({}, os.environ, '', this_machine(os.environ));"
        "t = trackers.open_tracker(s, as_person=False, create=False);"
        "t.comment(Ref('shop', 1), sys.argv[1], key='k'); t.close()"
    )
    subprocess.run([sys.executable, "-c", code, text], env=shop.environ, cwd=shop.cwd, check=True)
    shown = shop("ticket", "show", "shop", "1").out
    assert "A worker started." in shown
    assert "colony (machine)" in shown
    assert "colony-lease" not in shown
    assert "colony-lease" in shop("ticket", "show", "shop", "1", "--full").out


def test_a_person_cannot_forge_what_is_folded(shop: Colony) -> None:
    shop("ticket", "comment", "shop", "1", "colony-lease: s-20261130T1200-00ff00 · host elm")
    assert "colony-lease" in shop("ticket", "show", "shop", "1").out


HOSTILE = [
    "two\nTICKETS: 999\nlines",
    "\x1b[2J\x1b[31mred",
    "right\u202eleft",
    "[bold]markup[/bold]",
    "nul-free but\x07bell",
    "👩‍🚀 emoji",
    "<script>alert(1)</script>",
]


@pytest.mark.parametrize("subject", HOSTILE)
def test_no_subject_forges_a_line_or_colours_a_terminal(colony: Colony, subject: str) -> None:
    colony.register("shop")
    assert colony("ticket", "new", subject, "--summary", subject).code == 0
    listed = colony("ticket", "list")
    assert [line.split()[0] for line in listed.lines] == ["TICKET", "TICKETS:"]
    shown = colony("ticket", "show", "shop", "1")
    for text in (listed.out, shown.out):
        assert not {c for c in text if c in "\x1b\x07\u202e"}
    assert all(line.startswith(("TICKET shop#1 ", "  ")) or not line for line in shown.lines)


def test_nobody_comes_under_the_name_of_colony(colony: Colony) -> None:
    """A tracker would know Colony as a person for good, and never let it write again."""
    colony.register("shop")
    for names in ({"COLONY_PERSON": "colony"}, {"COLONY_USER": "anna"}):
        done = colony("ticket", "new", "A cart", **names)
        assert done.code == 2
        assert "COLONY_PERSON" in done.error
        assert "COLONY_USER" in done.error
    assert not (colony.home / "colony.db").exists()
    assert colony("ticket", "new", "A cart").code == 0


def test_half_a_character_in_an_argument(colony: Colony) -> None:
    colony.register("shop")
    done = colony("ticket", "new", os.fsencode("half ") + b"\xff\xed\xa0\x80")
    assert done.code == 0
    assert done.lines[-1].startswith("TICKET shop#1 open — half ")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["new", "x" * 301], 3, "300"),
        (["new", " "], 3, ""),
        (["show", "shop", "0"], 2, "no ticket is named so"),
        (["show", "shop#1", "1"], 2, "no ticket is named so"),
        (["show", "shop", "99999999999999999999"], 2, "no ticket is named so"),
        (["show", "shop", "9"], 3, "shop#9"),
        (["state", "shop", "1", "finished"], 2, "must be one of open, progress"),
        (["edit", "shop", "1"], 2, "nothing to change"),
        (["parent", "shop", "1"], 2, "give the parent as P2 N2, or --none"),
        (["parent", "shop", "1", "shop"], 2, "give the parent as P2 N2, or --none"),
        (["parent", "shop", "1", "shop", "1"], 3, ""),
        (["block", "shop", "1", "shop", "1"], 3, ""),
        (["block", "shop", "1", "shop", "7"], 3, "shop#7"),
        (["answer", "shop", "1", "yes"], 3, "shop#1 is no question"),
        (["new", "x", "--parent", "shop", "x"], 2, "no ticket is named so"),
        (["new", "x", "--parent", "shop", "7"], 3, "shop#7"),
    ],
)
def test_what_cannot_be_is_refused_and_writes_nothing(
    shop: Colony, words: list[str], code: int, told: str
) -> None:
    before = shop("ticket", "list", "--all", "--json").out
    done = shop("ticket", *words)
    assert done.code == code
    assert told in done.error
    assert shop("ticket", "list", "--all", "--json").out == before


def test_too_much_on_standard_input(shop: Colony) -> None:
    done = shop("ticket", "comment", "shop", "1", "-", stdin=b"x" * (256 * 1024 + 1))
    assert done.code == 3
    assert "262144" in done.error
    assert shop("ticket", "comment", "shop", "1", "-", stdin=b"x" * (256 * 1024)).code == 0


def test_states_and_what_was_so_already(shop: Colony) -> None:
    assert shop("ticket", "state", "shop", "1", "done").lines == ["TICKET shop#1 is done now"]
    assert shop("ticket", "state", "shop", "1", "done").lines == ["TICKET shop#1 was done already"]


def test_who_sends_back_without_a_word_is_told(shop: Colony) -> None:
    done = shop("ticket", "state", "shop", "1", "reopened", "--text", " ")
    assert (done.code, done.error.split(" — ")[0]) == (0, "WARNING")
    assert "no reason given" in done.error
    assert not shop("ticket", "state", "shop", "1", "reopened", "--text", "It squeaks.").err


def test_relations(shop: Colony) -> None:
    shop("ticket", "new", "Wheels", "--parent", "shop", "1")
    shop("ticket", "new", "Paint")
    assert shop("ticket", "block", "shop", "2", "shop", "3").lines == [
        "TICKET shop#2 is blocked by shop#3"
    ]
    shown = shop("ticket", "show", "shop", "2").out
    assert "part of shop#1 (open) — A cart" in shown
    assert "blocked by shop#3 (open) — Paint" in shown
    shop("ticket", "block", "shop", "2", "shop", "3", "--remove")
    assert shop("ticket", "parent", "shop", "2", "--none").lines == [
        "TICKET shop#2 has no parent now"
    ]
    row = shop("ticket", "show", "shop", "2", "--json").objects[0]
    assert (row["parent"], row["blockedBy"]) == (None, [])
    assert shop("ticket", "parent", "shop", "3", "shop", "1").lines == [
        "TICKET shop#3 is a part of shop#1 now"
    ]


def test_a_question_is_answered_and_done(shop: Colony) -> None:
    shop("ticket", "new", "Question (shop#1): which red?", "--parent", "shop", "1")
    early = shop("ticket", "answer", "shop", "2", "the dark one")
    assert (early.code, "waits for no answer" in early.error) == (3, True)
    shop("ticket", "state", "shop", "2", "pending")
    assert shop("ticket", "answer", "shop", "2", "/srv/red").lines == ["TICKET shop#2 answered"]
    shown = shop("ticket", "show", "shop", "2").out
    assert "TICKET shop#2 done" in shown
    assert "/answer /srv/red" in shown
