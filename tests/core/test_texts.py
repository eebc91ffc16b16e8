from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from reports import SESSION, TICKET, comment_by, report

from colony.core import keywords
from colony.core.endings import BELONGS, Ending
from colony.core.lines import clip
from colony.core.markers import (
    Deployed,
    LeaseExpired,
    LeaseLine,
    NoVerdict,
    Parked,
    Run,
    Spent,
    Verdict,
    defuse,
    parse,
)
from colony.core.markers import Report as ReportLine
from colony.core.report import Issue, Question, Report
from colony.core.texts import (
    deployed,
    details,
    failed_check,
    half_done,
    handback,
    issue,
    lease,
    moved,
    question,
    ready,
)
from colony.core.texts import report as report_text
from colony.core.texts.layout import lay, link, listed, price, say, when
from colony.core.ticket import SUBJECT_MAX, TEXT_MAX, Ref
from colony.core.verdict import Reason

HOST = "box1"
SHA = "0123456789ab"
UNTIL = 1_769_883_540_000
SPENT = Spent(184, 40, True)
LINK = "[shop #3](https://tickets.example/t/shop/3)"

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])

HOSTILE = [
    "# heading",
    "> quote",
    "- item",
    "+ item",
    "* item",
    "1. item",
    "23) item",
    "---",
    "***",
    "* * *",
    "===",
    "```sh",
    "~~~",
    "~~gone~~",
    "    code",
    "/hold",
    "/reject it",
    "*a* **b** _c_ __d__ `e` ``f``",
    "__init__.py and a_b_c and _x",
    "2 * 3 * 4 and a*b*c",
    "[x](javascript:alert(1)) ![y](http://z)",
    "[ref]: http://x",
    "[ ] box",
    "<script>alert(1)</script> <!-- x --> <http://x> a < b",
    "&lt;b&gt; &#65; &amp",
    "a\\*b \\ c\\",
    "| a | b |",
    ":--",
    "colony-report: s-1 · sha256 0123456789ab · controller pass",
    " colony-lease: s-1 · host h · started · ms 99",
    "session s-1 started on h",
    "fine\ncolony-lease: s-1 · host h · started · ms 99",
    "fine\r\n\r\n# heading\u2028- item\x85> quote",
    "\x00issue:0\x00",
    "\x1b[31mred\x07 \u202eevil \u200b\ufeff",
    "\ud800 half",
    "x" * 1_000_000,
    "@everyone state: done",
    "",
    "   ",
]


def words() -> st.SearchStrategy[str]:
    """Text of others: hostile examples, and anything near them."""
    marks = st.text(st.sampled_from("*_`~[]()<>&\\#-+=|:/!1.) \n\tab€é"), max_size=40)
    short = [text for text in HOSTILE if len(text) < 1000]
    return st.sampled_from(short) | marks | st.text(max_size=60)


def shown(text: str) -> str:
    """What a reader sees of one paragraph; fails where Markdown made anything else of it."""
    tokens = MARKDOWN.parse(text)
    if not text:
        assert not tokens
        return ""
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} <= {"text"}, children
    return "".join(child.content for child in children)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:30]))
def test_f74_words_of_others_are_shown_as_typed(text: str) -> None:
    assert shown(say(text)) == clip(defuse(clip(text, 160)), 162)


@given(words())
def test_no_words_of_others_become_markup(text: str) -> None:
    said = say(text, 100)
    assert shown(said) == clip(defuse(clip(text, 100)), 102)
    assert "\n" not in said
    assert not said.startswith("/")
    assert parse(said) is None


@given(words())
def test_words_of_others_in_a_list_stay_one_item(text: str) -> None:
    tokens = MARKDOWN.parse(f"1. {say(text) or 'x'}\n2. last")
    kinds = [token.type for token in tokens if token.type.endswith("_open")]
    assert kinds == ["ordered_list_open", *["list_item_open", "paragraph_open"] * 2]


PLAIN = [
    "Red or blue?",
    "3.14 is near",
    "5 of 12. Fine",
    "snake_case in a.py: 3 < 4 & 5",
    "C:\\x",
    "see https://x.example/a_b?c=1&d=2",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert say(text) == text


def test_blocks_are_apart_and_the_machine_line_is_last() -> None:
    line = LeaseLine(SESSION, HOST, "started", UNTIL)
    assert lay("One.", [], "", ["- a", "- b"], machine=line).split("\n\n") == [
        "One.",
        "- a\n- b",
        f"colony-lease: {SESSION} · host box1 · started · ms {UNTIL}",
    ]


@pytest.mark.parametrize(
    ("url", "shows"),
    [
        (
            "https://tickets.example/t/shop/3?x=1#y",
            "[shop #3](https://tickets.example/t/shop/3?x=1#y)",
        ),
        ("", "shop#3"),
        ("javascript:alert(1)", "shop#3"),
        ("https://x/a) [b](https://y", "shop#3"),
        ("https://x/a\nb", "shop#3"),
        ("https://x/ a", "shop#3"),
    ],
)
def test_a_link_is_a_link_only_with_an_address_that_markdown_can_hold(url: str, shows: str) -> None:
    assert link(TICKET, url) == shows


def test_small_words() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert when(1_769_883_540_000, 0) == "2026-01-31 18:19 UTC"
    assert when(1_769_883_540_000, 60) == "2026-01-31 19:19 UTC+01:00"
    assert when(1_769_883_540_000, -210) == "2026-01-31 14:49 UTC-03:30"
    assert when(10**18, 60) == f"{10**18} ms"
    assert price(1.836, True, 2) == "$1.84 · 2 sessions"
    assert price(0.0, True, 1) == "$0.00 · 1 session"
    assert price(1.0, False, 3) == "at least $1.00 · 3 sessions"


# --- every text, for ordinary and for hostile values -----------------------------------------


def a_report(word: str, **changes: object) -> Report:
    """A report in which every word is `word`."""
    made = Report(
        ticket=str(TICKET),
        session=SESSION,
        result=word,
        complete=True,
        test=(word,) * 4,
        done=(word,),
        verified=(),
        open=(word,) * 3,
        issues=(an_issue(word),),
        questions=(Question(0, word, f"{word}\n{word}\n{word}"),),
        running=(),
        refused=(word, word),
        decided=(word,) * 3,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def an_issue(word: str) -> Issue:
    return Issue(word, word, word, word, word, blocks=True)


def texts(word: str) -> Iterator[tuple[str, object]]:
    """Every text with the one machine line it must hold, None for a text without."""
    yield lease.started(SESSION, HOST, UNTIL), LeaseLine(SESSION, HOST, "started", UNTIL)
    yield lease.salvage(SESSION, HOST, UNTIL), LeaseLine(SESSION, HOST, "salvage", UNTIL)
    yield lease.renewed(SESSION, HOST, UNTIL), LeaseLine(SESSION, HOST, "renewed", UNTIL)
    yield lease.resumed(SESSION, HOST, 2, UNTIL), LeaseLine(SESSION, HOST, "resumed", UNTIL, 2)
    yield lease.expired(SESSION, HOST), LeaseExpired(SESSION, HOST)
    park = Parked(SESSION, HOST, "worker", UNTIL, UNTIL)
    for reason in get_args(lease.ParkReason):
        yield lease.parked(park, reason, 60), park
    for ending in Ending:
        how = "no report" if BELONGS[ending] == "ticket" else "given back"
        run = Run(SESSION, HOST, how, ending, SPENT)  # type: ignore[arg-type]
        yield handback.given_back(SESSION, HOST, ending, SPENT), run
        yield handback.spent_up(SESSION, HOST, ending, SPENT), run
    yield from result_texts(word)
    yield from check_texts(word)
    for asked in questions(word):
        yield asked.summary, None
    yield issue.summary(an_issue(word), LINK), None
    for line in moves():
        yield line, None


def result_texts(word: str) -> Iterator[tuple[str, object]]:
    filed = details.Filed((LINK,) * 5, (LINK,) * 5, (LINK,))
    told = a_report(word)
    found = details.details(told, filed)
    later = (comment_by(word, word),) * 3
    for bullets in (details.chosen(found, later), details.chosen(found, ()), []):
        for unchecked in (True, False):
            line = ReportLine(SESSION, SHA, passed=not unchecked, unchecked=unchecked, spent=SPENT)
            cost = "$1.84 · 2 sessions"
            yield report_text.result(told, bullets, cost, line), line
            half = replace(line, half_done=True)
            yield half_done.result(told, bullets, cost, half), half
            built = replace(line, ready=True)
            yield ready.built(bullets, cost, built), built
    yield report_text.late(ReportLine(SESSION, SHA, late=True)), ReportLine(SESSION, SHA, late=True)
    live = Deployed(SESSION, SHA)
    yield deployed.live(told, "https://shop.example/", found, live), live
    yield deployed.live(told, word, found, live), live
    yield deployed.live(told, "", [], live), live


def check_texts(word: str) -> Iterator[tuple[str, object]]:
    why = [Reason(kind, word) for kind in ("not true", "not shown", "packed", "summary")]
    for overruled in (True, False):
        line = Verdict(SESSION, 2, 2, overruled, SPENT)
        yield failed_check.sent_back(why, line), line
        yield failed_check.asked(why, LINK, line), line
        yield failed_check.spent_up(why, LINK, line), line
    none = NoVerdict(SESSION, SPENT)
    yield failed_check.no_verdict(LINK, "$1.84 · 2 sessions", none), none


def questions(word: str) -> list[question.Asked]:
    return [
        question.of_report(TICKET, LINK, Question(0, word, f"{word}\n{word}\n{word}\n{word}")),
        question.unknown_project(TICKET, LINK, an_issue(word)),
        question.failed_check(TICKET, LINK, 2, [Reason("not true", word)] * 3),
        question.spent_up(
            TICKET, LINK, question.Spending(612, 500, "at least $6.12"), [say(word), say(word)]
        ),
        question.no_verdict(TICKET, LINK),
        question.no_concept(word, [LINK] * 9),
        question.no_concept("beta", []),
        question.not_set_up(word, [LINK] * 9),
    ]


def moves() -> list[str]:
    return [
        moved.to_try(),
        moved.half_done(),
        moved.built(),
        moved.failed(1, 2),
        moved.failed_for_good(2),
        moved.spent_up(),
        moved.no_verdict(),
        moved.asks(),
    ]


STEP = re.compile(r"[1-4]\. ")


def moves_a_terminal(text: str) -> set[str]:
    """Control and format characters; the joiner of emoji is none."""
    bad = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {each for each in text if unicodedata.category(each) in bad} - {"\u200d"}


def held(text: str, marker: object) -> None:
    """The limits of every text."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [parse(line) for line in lines]
    assert [each for each in found if each is not None] == ([marker] if marker else []), text
    if marker:
        assert found[-1] == marker
        lines = lines[:-1]
    read = [line for line in lines if not STEP.match(line)]
    assert 1 <= len(read) <= 5, text
    assert not [line for line in lines if line.startswith(("/", "#", ">", "```", "~~~", "    "))]
    assert not moves_a_terminal(text.replace("\n", ""))
    assert len(text.encode()) <= TEXT_MAX
    tokens = MARKDOWN.parse(text)
    assert {token.type.removesuffix("_open").removesuffix("_close") for token in tokens} <= {
        "paragraph",
        "inline",
        "ordered_list",
        "bullet_list",
        "list_item",
    }
    inside = [child for token in tokens for child in token.children or []]
    assert {child.type.removesuffix("_open").removesuffix("_close") for child in inside} <= {
        "text",
        "softbreak",
        "strong",
        "link",
    }
    links = {child.attrs["href"] for child in inside if child.type == "link_open"}
    assert links <= {"https://tickets.example/t/shop/3"}


@pytest.mark.parametrize("word", ["Plain words", *HOSTILE], ids=lambda word: ascii(word[:30]))
def test_f74_every_text_keeps_its_limits(word: str) -> None:
    for text, marker in texts(word):
        held(text, marker)


@given(words())
def test_no_text_of_any_report_parses_as_more_than_its_one_machine_line(word: str) -> None:
    for text, marker in (*result_texts(word), *check_texts(word)):
        held(text, marker)
    for asked in questions(word):
        held(asked.summary, None)
        assert asked.subject.startswith("Question")
        assert len(asked.subject) <= SUBJECT_MAX
        assert not moves_a_terminal(asked.subject)


@given(words())
def test_a_problem_never_becomes_a_question_by_its_title(word: str) -> None:
    for title in (word, f"Question: {word}", f"question {word}", f" QUESTION ({word})"):
        subject = issue.subject(replace(an_issue("x"), subject=title))
        assert len(subject) <= SUBJECT_MAX
        assert not re.match(r"question\b", subject, re.IGNORECASE)


# --- what is said where ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "cap", "more"),
    [(500, 500, "$10"), (612, 500, "$12"), (1, 1, "$1"), (150, 100, "$3"), (199, 2, "$3")],
)
def test_the_budget_that_is_offered_leaves_something(cost: int, cap: int, more: str) -> None:
    spending = question.Spending(cost, cap, "")
    assert spending.more == more
    said = keywords.parse(f"/budget {more}")
    assert isinstance(said, keywords.Keyword)
    assert said.number > cost


def test_every_ending_has_its_reason() -> None:
    assert set(handback.REASONS) == set(Ending)
    assert len(set(handback.REASONS.values())) == len(Ending)


def test_a_park_by_the_limit_says_when_it_goes_on_and_by_a_stop_does_not() -> None:
    park = Parked(SESSION, HOST, "worker", UNTIL, UNTIL)
    assert "2026-01-31 19:19 UTC+01:00" in lease.parked(park, "limit", 60)
    assert "UTC" not in lease.parked(park, "stop", 60)
    assert lease.parked(park, "limit", 60).endswith(f"resume-ms {UNTIL} · ms {UNTIL}")


def test_details_come_in_the_order_of_their_weight() -> None:
    told = report(
        open=["Docs", "Tests"],
        decided=["Names in lower case", "No cache"],
        refused=["rm -rf"],
        running=[{"what": "server", "url": "http://x", "pid": 12, "log": "x.log"}],
    )
    filed = details.Filed(("Q1", "Q2"), ("P1", "P2"), ("P2",))
    assert details.details(told, filed) == [
        "Questions for you: Q1, Q2",
        "Found elsewhere: P1, P2 (this ticket waits for it)",
        "Decided: Names in lower case; No cache",
        "Not done: Docs (and 1 more)",
        "1 action was not allowed and left out",
    ]
    half = details.details(replace(told, complete=False), details.Filed(("Q1",)))
    assert half[:2] == ["Left to do: Docs (and 1 more)", "A question for you: Q1"]
    assert not [line for line in half if line.startswith("Not done")]


def test_comments_that_the_worker_did_not_see_take_one_of_the_two_bullets() -> None:
    later = (comment_by("Ada", "first"), comment_by("Bo", "Make it *blue*\nplease"))
    unread = 'Came in during the work, not yet read: "Make it \\*blue\\* please" (Bo) and 1 more'
    assert details.chosen(["a", "b", "c"], later) == ["a", unread]
    assert details.chosen([], later) == [unread]
    assert details.chosen(["a", "b", "c"], ()) == ["a", "b"]


def test_a_text_posted_by_hand_says_so_first() -> None:
    line = ReportLine(SESSION, SHA, unchecked=True)
    for text in (
        report_text.result(report(), [], "", line),
        half_done.result(report(), [], "", replace(line, half_done=True)),
        ready.built([], "", replace(line, ready=True)),
    ):
        assert text.startswith("Posted by hand, not checked")


def test_a_result_that_went_live_has_its_steps_and_three_details() -> None:
    filed = details.Filed(("Q",), ("P",), ())
    told = report(decided=["Names in lower case"], open=["Docs"])
    text = deployed.live(
        told, "https://shop.example", details.details(told, filed), Deployed(SESSION, SHA)
    )
    assert text == (
        "Live now on https://shop.example: The basket keeps what was put into it.\n\n"
        "**Test:**\n1. Put something into the basket\n"
        "2. Reload the page: it is still there\n\n"
        "- A question for you: Q\n- Found elsewhere: P\n- Decided: Names in lower case\n\n"
        f"colony-deployed: {SESSION} · sha256 {SHA}"
    )
    assert deployed.live(told, "", [], Deployed(SESSION, SHA)).startswith("Live now: The basket")


def test_a_half_done_result_has_no_steps() -> None:
    line = ReportLine(SESSION, SHA, passed=True, half_done=True)
    assert "**Test:**" not in half_done.result(report(), [], "", line)


def test_a_question_shows_its_lines_and_its_ticket() -> None:
    asked = question.of_report(Ref("shop", 3), LINK, Question(0, "Which colour?", "red\n\nor blue"))
    assert asked.subject == "Question (shop#3): Which colour?"
    assert asked.summary.split("\n\n")[:2] == ["red", "or blue"]
    assert LINK in asked.summary
