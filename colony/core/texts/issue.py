"""The ticket of a problem that a worker found in another part."""

from __future__ import annotations

import re
from typing import Final

from colony.core.lines import clip
from colony.core.report import Issue
from colony.core.texts.layout import lay, say

OBSERVATION_MAX: Final = 600
"""Characters in each line that describes a problem: whoever mends it has nothing else."""
_SUBJECT_MAX: Final = 200
_ASKS: Final = re.compile(r"question\b", re.IGNORECASE)


def subject(issue: Issue) -> str:
    """The worker's title, plain text. A title that begins with the word Question would make the
    ticket a question, which nobody works on."""
    title = clip(issue.subject, _SUBJECT_MAX)
    return f"Problem: {title}" if _ASKS.match(title) else title


def summary(issue: Issue, link: str) -> str:
    """`link` leads to the ticket whose worker found it."""
    waits = ", which waits for it" if issue.blocks else ""
    return lay(f"Found during the work on {link}{waits}.", *observations(issue))


def observations(issue: Issue) -> list[str]:
    return [
        f"**How to see it:** {say(issue.repro, OBSERVATION_MAX)}",
        f"**What happens:** {say(issue.observed, OBSERVATION_MAX)}",
        f"**What should happen:** {say(issue.expected, OBSERVATION_MAX)}",
    ]
