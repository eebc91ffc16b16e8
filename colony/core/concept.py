"""The concept that `init` begins: questions about the project, with guesses to check."""

from __future__ import annotations

import re
from typing import Final

from colony.core.guess.reading import Command, Guess

TOLD: Final = "Workers read this before each ticket. Replace the questions with your answers."

_GUESSED: Final = "<!-- guessed from {source}: check it -->"
_IS_GUESSED: Final = re.compile(r"<!-- guessed from [^\n]*?: check it -->")
_PURPOSE: Final = "What is it for, and for whom?"
_ASKED: Final = (
    "What must it do?",
    "What must it never do?",
)
_BUILT: Final = "How is it built, started and tested?"
_FINISHED: Final = "What counts as finished?"
QUESTIONS: Final = (_PURPOSE, *_ASKED, _BUILT, _FINISHED)


def first_concept(name: str, guess: Guess) -> str:
    """The text of a new concept. What was guessed says so, and from which file."""
    parts = [f"# {name}: what it is meant to become", TOLD, f"## {_PURPOSE}"]
    if guess.purpose:
        parts.append(f"{_GUESSED.format(source=guess.purpose.source)}\n{guess.purpose.text}")
    parts += [f"## {question}" for question in _ASKED]
    parts.append(f"## {_BUILT}")
    if guess.commands:
        parts.append("\n".join(map(_told, guess.commands)))
    parts.append(f"## {_FINISHED}")
    return "\n\n".join(parts) + "\n"


def unanswered(concept: str) -> tuple[str, ...]:
    """Questions of `first_concept` that have no answer yet, or one that was guessed and not
    checked. A concept that somebody wrote without them has none."""
    left = []
    heading, body = "", ""
    for line in (*concept.splitlines(), "## "):
        if not line.startswith("## "):
            body += line + "\n"
            continue
        if heading in QUESTIONS and (not body.strip() or _IS_GUESSED.search(body)):
            left.append(heading)
        heading, body = line.removeprefix("## ").strip(), ""
    return tuple(left)


def _told(command: Command) -> str:
    return f"- {command.task}: `{command.text}` {_GUESSED.format(source=command.source)}"
