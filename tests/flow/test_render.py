"""Prompts as they are handed to coding agents, from the real templates."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colony.core.brief.check import CheckFacts
from colony.core.brief.facts import (
    AgentDoc,
    BriefFacts,
    Budget,
    Decisions,
    Dependency,
    Places,
    Previous,
    Sibling,
    Texts,
)
from colony.core.people import People
from colony.core.project import Project
from colony.core.rework import Rejection
from colony.core.ticket import Event, History, Ref, Related, Ticket
from colony.core.transcript import transcript
from colony.core.turn import Step
from colony.errors import UsageProblem
from colony.flow.render import Templates

FOLDER = Path(__file__).parents[2] / "templates"
TEMPLATES = Templates(FOLDER)
SESSION = "s-20260201T0900-aabbcc"
REJECTED = "# REJECTED by the creator"


def event(number: int, text: str, author: str = "mara") -> Event:
    return Event(number, "comment", author, f"id-{author}", False, number * 60_000, text)


def row(number: int, subject: str, summary: str = "") -> Ticket:
    return Ticket(
        ref=Ref("shop", number),
        subject=subject,
        summary=summary,
        state="open",
        author="mara",
        user_id="id-mara",
        machine=False,
        source="",
        created_ms=number,
        updated_ms=0,
        last_event=0,
        version=1,
    )


def facts(text: str = "The cart is empty.", name: str = "mara", **more: Any) -> BriefFacts:
    """A brief with every part in it, and `text` in every place that others fill."""
    said = event(2, text, name)
    ticket = replace(
        row(3, text, text),
        author=name,
        parent=Related(Ref("shop", 1), "open", text),
    )
    plain = BriefFacts(
        history=History(ticket, (said, event(3, text))),
        project=Project("shop", depends_on=("api",), ui=True, note="Node 22"),
        places=Places("/srv/shop", "/srv/shop/CONCEPT.md", ports="8700-8709"),
        session=SESSION,
        now_ms=1_769_900_000_000,
        budget=Budget(60, 3600),
        texts=Texts("1. Stay.", "- Be plain.", {"api": "Ask the api first."}),
        report_schema='{"type": "object"}',
        people=People(admins=frozenset({"id-mara"})),
        url="http://127.0.0.1:8080/t/shop/3",
        known_projects=("api", "shop"),
        ui_conventions="/srv/ui.md",
        docs=(AgentDoc("CLAUDE.md", text), AgentDoc("AGENTS.md", None)),
        siblings=(Sibling(row(2, text), (said, event(3, text))),),
        dependencies=(Dependency("api", (row(9, text),), "/srv/api"),),
        rejection=Rejection(9, text, name, 0, (said,)),
        news=(said,),
        previous=Previous(SESSION, "alpha", "it ran out of time", text, False, (text,)),
        decisions=Decisions(text, text, ("/srv/shop/DECISIONS.md",), partial=True),
    )
    return replace(plain, **more)


def bare(**more: Any) -> BriefFacts:
    """A first session on a ticket of a project about which nothing else is known."""
    full = facts()
    return BriefFacts(
        history=History(row(3, "Cart", "It is empty."), ()),
        project=Project("shop"),
        **{
            name: more.get(name, getattr(full, name))
            for name in ("places", "session", "now_ms", "budget", "report_schema", "people")
        },
        texts=more.get("texts", Texts("1. Stay.")),
    )


def outside_fences(text: str) -> list[str]:
    """The lines that Markdown takes for the brief's own words."""
    lines, closing = [], ""
    for line in re.split("\r\n|\n|\r", text):
        if closing:
            if re.fullmatch(rf" {{0,3}}{closing}`*[ \t]*", line):
                closing = ""
        elif opened := re.match(" {0,3}(`{3,})[^`]*$", line):
            closing = opened[1]
        else:
            lines.append(line)
    assert not closing
    return lines


def headings(text: str) -> list[str]:
    return [line for line in outside_fences(text) if re.match("##? ", line)]


def test_a_full_brief_has_its_parts_in_order() -> None:
    assert headings(TEMPLATES.brief(facts())) == [
        REJECTED,
        "# New since the last session",
        "# shop#3: your task",
        "## Previous attempt",
        "## Read first",
        "## Conventions: already decided, not to be asked about",
        "## Decisions of the creator",
        "## Where",
        "## Relations",
        "## Tickets of shop: decisions may already be there",
        "## Working with api",
        "## Open tickets of the projects this one depends on",
        "## Budget: leave room for the report",
        "## Rules",
        "## The report: how you end",
        "## The ticket: shop#3",
    ]


def test_a_bare_brief_says_only_what_there_is() -> None:
    text = TEMPLATES.brief(bare())
    assert headings(text) == [
        "# shop#3: your task",
        "## Read first",
        "## Where",
        "## Budget: leave room for the report",
        "## Rules",
        "## The report: how you end",
        "## The ticket: shop#3",
    ]
    assert "\n\n\n" not in text
    assert text.endswith("Nothing has happened since.\n")


def test_a_rejection_leads_with_its_reason_and_the_rule() -> None:
    text = TEMPLATES.brief(facts(rejection=Rejection(9, "Empty again.", "mara", 0)))
    assert text.startswith(REJECTED)
    first = text.split("\n---\n")[0]
    assert "```text\nEmpty again.\n```" in first
    assert "Build what was described, not a way around it." in first
    nothing_said = TEMPLATES.brief(facts(rejection=Rejection(9, "", "mara", 0)))
    assert "No reason was given with it." in nothing_said.split("\n---\n")[0]


def test_what_a_worker_must_know_is_there() -> None:
    own = "\n".join(outside_fences(TEMPLATES.brief(facts(texts=TEMPLATES.texts()))))
    for told in (
        SESSION,
        "http://127.0.0.1:8080/t/shop/3",
        "/srv/shop/CONCEPT.md",
        "8700-8709",
        "before step 50",
        "60 minutes",
        '{"title", "text"}',
        "`decided`",
        "Leave no process running",
        "Ports only from your range",
        "Commit only if the project says so",
        "`api`, `shop`",
        "/srv/ui.md",
        "/srv/shop/DECISIONS.md",
    ):
        assert told in own, told


@pytest.mark.parametrize("live", ["", "https://shop.example"])
def test_where_the_creator_tries_it(live: str) -> None:
    text = TEMPLATES.brief(facts(project=Project("shop", live_url=live)))
    steps = next(line for line in text.split("\n") if line.startswith("- `test`"))
    assert ("the live site `https://shop.example`" in steps) is bool(live)
    assert ("Live site" in text) is bool(live)


@pytest.mark.parametrize(
    "typed", ["{{ session }}", "{% if x %}", "{% raw %}", "{# gone #}", "{{ 7 * 7 }}", "{{"]
)
def test_template_syntax_in_a_ticket_stays_as_typed(typed: str) -> None:
    text = TEMPLATES.brief(facts(f"before {typed} after"))
    assert text.count(f"before {typed} after") >= 10
    prompt = TEMPLATES.controller_prompt(check(report=f"before {typed} after"))
    assert f"before {typed} after" in prompt


def test_html_in_a_ticket_stays_as_typed() -> None:
    typed = """<b title="x">a && 'b'</b>"""
    assert TEMPLATES.brief(facts(typed)).count(typed) >= 10


def test_operators_plain_files_are_no_templates() -> None:
    texts = Texts("1. Write {{ braces }}.", "{% if %}", {"api": "{{ x }}"})
    text = TEMPLATES.brief(facts(texts=texts))
    assert all(told in text for told in ("1. Write {{ braces }}.", "{% if %}", "{{ x }}"))


CODE = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
"""A span of Markdown code."""

SHAPES = ("`", "```", "````text", "`" * 61, "~~~", "# ", "-", "{{", "%}", "<!--", "</pre>")
BREAKS = ("\n", "\r", "\r\n", " ", "\x00", "\ud83d", "\u2028", "\x1b[31m")
HOSTILE = st.lists(st.sampled_from((*SHAPES, *BREAKS, "ESCAPED", "é", "😀")), max_size=40)


@settings(max_examples=40)
@given(HOSTILE)
def test_no_text_leaves_its_fence(pieces: list[str]) -> None:
    text = "".join(pieces)
    hostile = facts(f"{text}\nESCAPED\n{text}", name=f"{text}ESCAPED")
    brief = TEMPLATES.brief(hostile)
    brief.encode("utf-8")
    assert "\x00" not in brief
    own = [CODE.sub("", line) for line in outside_fences(brief)]
    assert not [line for line in own if "ESCAPED" in line]
    assert headings(brief) == headings(TEMPLATES.brief(facts()))
    prompt = TEMPLATES.controller_prompt(
        check(report=text, brief=brief, transcript=transcript([Step("text", text)]))
    )
    assert headings(prompt) == headings(TEMPLATES.controller_prompt(check()))


@settings(max_examples=20)
@given(
    st.sampled_from(["x", "`", "\n", "`\n", "😀 ", "# a\n"]),
    st.sampled_from([0, 1_000, 30_000, 120_000]),
    st.sampled_from([30_000, 60_000, 200_000]),
    st.integers(1, 12),
)
def test_a_brief_keeps_to_its_size(piece: str, size: int, limit: int, times: int) -> None:
    text = piece * (size // len(piece)) or "x"
    large = facts(
        text,
        history=History(row(3, text, text), tuple(event(n, text) for n in range(times))),
        news=tuple(event(n, text) for n in range(times)),
        rejection=Rejection(9, text, text, 0, tuple(event(n, text) for n in range(times))),
        siblings=tuple(Sibling(row(n, text), (event(1, text),) * 9) for n in range(9 * times)),
        docs=(AgentDoc("CLAUDE.md", "x" * 16_000), AgentDoc("AGENTS.md", text[:16_000])),
        budget=Budget(60, 3600, limit),
    )
    assert len(TEMPLATES.brief(large)) <= limit


def test_a_megabyte_in_the_ticket_is_cut_in_its_middle_and_said() -> None:
    text = "A" + "x" * 1_000_000 + "Z"
    given_facts = bare()
    brief = TEMPLATES.brief(replace(given_facts, history=History(row(3, "Cart", text), ())))
    assert 90_000 < len(brief) <= 200_000
    assert "\nAxxx" in brief
    assert "xxxZ\n" in brief
    assert "characters are left out at […]; `colony ticket show shop 3` shows them." in brief


def test_too_small_a_limit_is_refused_by_name() -> None:
    with pytest.raises(UsageProblem, match="COLONY_BRIEF_MAX_CHARS"):
        TEMPLATES.brief(facts(budget=Budget(60, 3600, 8_000)))


def test_the_same_facts_give_the_same_bytes() -> None:
    assert Templates(FOLDER).brief(facts()) == TEMPLATES.brief(facts())


# --- the controller ------------------------------------------------------------------------


def check(**more: Any) -> CheckFacts:
    plain = CheckFacts(
        ref=Ref("shop", 3),
        session=SESSION,
        report='{"result": "It works."}',
        questions=0,
        transcript="[1] the agent says: I look.",
        brief="# shop#3: your task",
        verdict_schema='{"type": "object"}',
    )
    return replace(plain, **more)


def test_the_controller_gets_instructions_report_transcript_brief() -> None:
    prompt = TEMPLATES.controller_prompt(check(questions=2))
    assert headings(prompt) == [
        "# Check the report on shop#3",
        "## What to check",
        "## How to say it",
        "## The worker's questions",
        "## The shape of the verdict",
        "## The report",
        "## What the worker did",
        "## The brief that the worker was given",
    ]
    fenced = ("It works.", "[1] the agent says: I look.", "# shop#3: your task")
    assert [prompt.index(text) for text in fenced] == sorted(prompt.index(t) for t in fenced)
    assert not any(text in line for line in outside_fences(prompt) for text in fenced)


def test_the_controller_is_told_what_to_check() -> None:
    prompt = TEMPLATES.controller_prompt(check(questions=2))
    told = ("`verified`", "`done`", "`git diff`", "`complete`", "background", "`not checked`")
    words = ("`ask`", "`decided`", "`trivial`", "`internal`", "`packed`")
    assert all(text in prompt for text in (*told, *words, "Write no file", SESSION))


def test_the_controllers_prompt_follows_the_facts() -> None:
    plain = TEMPLATES.controller_prompt(check())
    assert "The report asks none" in plain
    assert "`packed`" not in plain
    assert "stopped before it could report" not in plain
    assert "stopped before it could report" in TEMPLATES.controller_prompt(check(salvaged=True))
    live = TEMPLATES.controller_prompt(check(live_url="https://shop.example"))
    assert "https://shop.example" in live
    assert "do not open the site" in live


# --- the folder ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "templates"))


def test_notes_to_editors_are_not_passed_on(folder: Path) -> None:
    (folder / "depends").mkdir(exist_ok=True)
    (folder / "depends" / "api.md").write_text("<!-- mine -->\nAsk <!-- here --> first.\n")
    texts = Templates(folder).texts(["api", "mail", "../rules"])
    assert texts.depends == {"api": "Ask <!-- here --> first."}
    assert texts.rules.startswith("1. ")
    assert texts.conventions.startswith("- ")


def test_an_edited_template_counts_at_once(folder: Path) -> None:
    templates = Templates(folder)
    assert "{{" not in templates.brief(facts())
    budget = folder / "brief" / "budget.md"
    budget.write_text("## Spend {{ max_turns }}\n")
    later = budget.stat().st_mtime + 10
    os.utime(budget, (later, later))
    assert "## Spend 60" in templates.brief(facts())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{{ max_turn }}", "'max_turn' is undefined"),
        ("fine\n{% if %}", "line 2"),
        ("{{ max_turns / 0 }}", "division by zero"),
        ('{% include "gone.md" %}', "gone.md: missing"),
        ("{{ max_turns() }}", "not callable"),
    ],
)
def test_a_template_that_cannot_be_used_is_named(folder: Path, content: str, said: str) -> None:
    (folder / "brief" / "budget.md").write_text(content)
    with pytest.raises(UsageProblem) as caught:
        Templates(folder).brief(facts())
    assert said in caught.value.line
    assert ".md" in caught.value.line


@pytest.mark.parametrize("name", ["brief/header.md", "report.md", "controller.md"])
def test_a_missing_template_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(UsageProblem, match=re.escape(f"{Path(name).name}: missing")):
        Templates(folder).brief(facts())
        Templates(folder).controller_prompt(check())


def test_a_file_that_is_no_text_is_named(folder: Path) -> None:
    (folder / "conventions.md").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageProblem, match=r"conventions\.md: cannot be read"):
        Templates(folder).texts()
    (folder / "brief" / "where.md").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageProblem, match=r"where\.md"):
        Templates(folder).brief(facts())


def test_no_brief_without_rules_and_none_needed_for_conventions(folder: Path) -> None:
    (folder / "conventions.md").unlink()
    assert Templates(folder).texts().conventions == ""
    (folder / "rules.md").write_text("<!-- nothing -->\n")
    with pytest.raises(UsageProblem, match=r"rules\.md"):
        Templates(folder).texts()
