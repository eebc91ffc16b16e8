"""The report: what a worker says it did, read strictly.

Shape and lengths are `templates/report.schema.json`; what a schema cannot say is beside it here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from colony.core.codec import CodecProblem, from_json
from colony.core.lines import Json, clip
from colony.core.strict_json import Check, Problems, problems
from colony.core.ticket import Ref

QUESTION_LINES_MAX: Final = 3
QUESTION_TITLE_MAX: Final = 80
DECIDED_MAX: Final = 120
"""Characters in a small choice."""

_LOCAL: Final = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\b0\.0\.0\.0\b|\[::1\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verified:
    claim: str
    command: str
    output: str


@dataclass(frozen=True, slots=True)
class Issue:
    """A problem of another part; `project` is whatever the worker wrote."""

    project: str
    subject: str
    repro: str
    observed: str
    expected: str
    blocks: bool


@dataclass(frozen=True, slots=True)
class Question:
    """`index` is its place in the report as written, whatever was dropped since."""

    index: int
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Running:
    what: str
    url: str
    pid: int
    log: str


@dataclass(frozen=True, slots=True)
class Report:
    """A valid report of one session."""

    ticket: str
    session: str
    result: str
    complete: bool
    test: tuple[str, ...]
    done: tuple[str, ...]
    verified: tuple[Verified, ...]
    open: tuple[str, ...]
    issues: tuple[Issue, ...]
    questions: tuple[Question, ...]
    running: tuple[Running, ...]
    refused: tuple[str, ...]
    decided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expect:
    """Whose report it must be. `live`: people try the result on a live site."""

    ticket: Ref
    session: str
    live: bool


def read_report(data: Json, expect: Expect, check: Check) -> Report | Problems:
    """The report, or every problem it has. `check` holds it against the report's schema."""
    found = (*check(data), *_beside_schema(data, expect))
    if found:
        return problems(found)
    assert isinstance(data, dict)
    try:
        return from_json(Report, {**data, "questions": _numbered(data["questions"])}, "report")
    except (CodecProblem, KeyError) as error:
        # The schema is a file that people may edit: it may ask for less than this program reads.
        return problems((f"{error} (the schema in templates/ does not ask for it)",))


def notes(report: Report, known_projects: Collection[str]) -> tuple[str, ...]:
    """What is worth saying about a valid report: issues whose project nobody knows."""
    return tuple(
        f"issues[{at}].project: '{clip(issue.project, 60)}' is not a known project"
        " (a person will be asked where it belongs)"
        for at, issue in enumerate(report.issues)
        if issue.project not in known_projects
    )


def agent_schema(schema: Json, expect: Expect) -> Json:
    """The report's schema as a worker gets it: stricter than what is accepted.

    Every key is required, `decided` too; questions are objects; ticket and session are fixed.
    Without `$schema`: agents that know another dialect refuse its name.
    """
    known = properties_of(schema)
    questions = known.get("questions")
    if isinstance(questions, dict) and isinstance(items := questions.get("items"), dict):
        for_text = ("title", "pattern", "maxLength")
        objects = {key: each for key, each in items.items() if key not in for_text}
        known["questions"] = {**questions, "items": {**objects, "type": "object"}}
    known |= {"ticket": {"const": str(expect.ticket)}, "session": {"const": expect.session}}
    required: list[Json] = list(known)
    return {**without_dialect(schema), "required": required, "properties": known}


def properties_of(schema: Json) -> dict[str, Json]:
    """The properties of a schema, to be changed; a schema that people broke has none."""
    known = schema.get("properties") if isinstance(schema, dict) else None
    return dict(known) if isinstance(known, dict) else {}


def without_dialect(schema: Json) -> dict[str, Json]:
    whole = schema if isinstance(schema, dict) else {}
    return {key: each for key, each in whole.items() if key != "$schema"}


# --- what a schema cannot say ----------------------------------------------------------------


def whose_problems(data: Json, ticket: str, session: str) -> list[str]:
    """A report or verdict that names another ticket or session than the one it came from."""
    wanted = {"ticket": ticket, "session": session}
    return [
        f"{key}: is '{clip(said, 80)}', must be '{wanted[key]}'"
        for key in wanted
        if isinstance(said := _at(data, key), str) and said != wanted[key]
    ]


def _beside_schema(data: Json, expect: Expect) -> list[str]:
    found = whose_problems(data, str(expect.ticket), expect.session)
    for at, step in enumerate(_list(data, "test")):
        found += [f"test[{at}]: {problem}" for problem in _step_problems(step, expect.live)]
    for at, question in enumerate(_list(data, "questions")):
        inside = isinstance(question, dict)
        text = _at(question, "text") if inside else question
        lines = _lines(text) if isinstance(text, str) else []
        if len(lines) > QUESTION_LINES_MAX:
            place = f"questions[{at}]" + (".text" if inside else "")
            found.append(f"{place}: has {len(lines)} lines, at most {QUESTION_LINES_MAX}")
    return found


def _step_problems(step: Json, live: bool) -> list[str]:
    if not isinstance(step, str):
        return []
    found = []
    if ".scratch" in step:
        found.append("names .scratch (people try the real result, never a work copy)")
    local = _LOCAL.search(step)
    if live and local:
        found.append(f"names {local[0]} (people try it on the live site, after the deploy)")
    return found


def _at(data: Json, key: str) -> Json:
    return data.get(key) if isinstance(data, dict) else None


def _list(data: Json, key: str) -> list[Json]:
    each = _at(data, key)
    return each if isinstance(each, list) else []


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _numbered(questions: Json) -> Json:
    """Old reports hold questions as plain text: the first line is the title."""
    out: list[Json] = []
    for at, question in enumerate(questions if isinstance(questions, list) else []):
        if isinstance(question, str):
            title = clip(next(iter(_lines(question)), ""), QUESTION_TITLE_MAX)
            out.append({"index": at, "title": title, "text": question})
        elif isinstance(question, dict):
            out.append({**question, "index": at})
    return out
