"""The concept that `init` begins: questions about the project, with guesses to check."""

from __future__ import annotations

from typing import Final

from colony.core.guess.reading import Command, Guess

UNFILLED: Final = "Workers read this before each ticket. Replace the questions with your answers."
"""Stands in a concept that nobody has filled in yet."""

_GUESSED: Final = "<!-- guessed from {source}: check it -->"
_ASKED: Final = (
    "What must it do?",
    "What must it never do?",
)


def first_concept(name: str, guess: Guess) -> str:
    """The text of a new concept. What was guessed says so, and from which file."""
    parts = [f"# {name}: what it is meant to become", UNFILLED, "## What is it for, and for whom?"]
    if guess.purpose:
        parts.append(f"{_GUESSED.format(source=guess.purpose.source)}\n{guess.purpose.text}")
    parts += [f"## {question}" for question in _ASKED]
    parts.append("## How is it built, started and tested?")
    if guess.commands:
        parts.append("\n".join(map(_told, guess.commands)))
    parts.append("## What counts as finished?")
    return "\n\n".join(parts) + "\n"


def _told(command: Command) -> str:
    return f"- {command.task}: `{command.text}` {_GUESSED.format(source=command.source)}"
