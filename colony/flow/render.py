"""Template files become prompts. The one user of Jinja2 for what coding agents read.

A template is Colony's own or its operator's. Text of tickets, files and agents only ever comes in
as a value: it is never compiled, and braces in it stay as they were typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
)

from colony.core.brief import parts
from colony.core.brief.check import CheckFacts, check_values
from colony.core.brief.facts import BriefFacts, Texts
from colony.core.brief.resumed import AskedForReport, Resumed, report_values, resumed_values
from colony.core.ticket import is_name
from colony.errors import UsageProblem

TICKET_MIN: Final = 4_000
"""Characters that must be left for the ticket itself."""
_NOTE: Final = re.compile(r"\A\s*<!--.*?-->\s*", re.DOTALL)
"""What a plain file says to the people who edit it; not passed on."""


class Templates:
    """The folder of templates. Compiled once, and again when a file has changed.

    A template or text that cannot be used is a UsageProblem that names its file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            undefined=StrictUndefined,
            autoescape=False,  # noqa: S701 - these are prompts, not pages
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def texts(self, depends_on: Iterable[str] = ()) -> Texts:
        """The plain files that briefs carry as they are."""
        told = {name: self._plain(f"depends/{name}.md") for name in depends_on if is_name(name)}
        rules = self._plain("rules.md")
        if not rules:
            raise UsageProblem(
                f"{self._folder / 'rules.md'}: missing or empty; no brief without rules"
            )
        return Texts(
            rules=rules,
            conventions=self._plain("conventions.md"),
            depends={name: text for name, text in told.items() if text},
        )

    def brief(self, facts: BriefFacts) -> str:
        """The whole brief, in at most `facts.budget.max_chars` characters."""
        before = "\n\n".join(
            self._render(f"brief/{part.name}.md", part.values) for part in parts.parts(facts)
        )
        frame = {**parts.ticket(facts, 0).values, "task": "", "history": ""}
        taken = len(before) + len(self._render("brief/ticket.md", frame)) + 4
        room = facts.budget.max_chars - taken
        if room < TICKET_MIN:
            raise UsageProblem(
                f"brief: {facts.budget.max_chars:,} characters leave no room for the ticket, the "
                f"other parts take {taken:,}; raise COLONY_BRIEF_MAX_CHARS or shorten the templates"
            )
        ticket = self._render("brief/ticket.md", parts.ticket(facts, room).values)
        return f"{before}\n\n{ticket}\n"

    def controller_prompt(self, facts: CheckFacts) -> str:
        """Instructions, report, transcript and brief, for the session that checks."""
        return self._render("controller.md", check_values(facts)) + "\n"

    def resumed(self, facts: Resumed) -> str:
        """For an agent that goes on with its work after a pause."""
        return self._render("resume.md", resumed_values(facts)) + "\n"

    def asked_for_report(self, facts: AskedForReport) -> str:
        """For an agent that is to report and to do nothing else."""
        return self._render(f"{facts.kind}.md", report_values(facts)) + "\n"

    def _render(self, name: str, values: Mapping[str, object]) -> str:
        try:
            return self._environment.get_template(name).render(values).strip("\n")
        except TemplateSyntaxError as error:
            where = f"{self._folder / (error.name or name)}, line {error.lineno}"
            raise UsageProblem(f"{where}: {error.message}") from error
        except TemplateNotFound as error:
            raise UsageProblem(f"{self._folder / (error.name or name)}: missing") from error
        except (TemplateError, UnicodeDecodeError, OSError, ArithmeticError, TypeError) as error:
            raise UsageProblem(f"{self._folder / name}: {error}") from error

    def _plain(self, name: str) -> str:
        try:
            text = (self._folder / name).read_text("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise UsageProblem(f"{self._folder / name}: cannot be read ({error})") from error
        return _NOTE.sub("", text, count=1).strip()
