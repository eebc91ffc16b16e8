"""What a project is for: the first paragraph of its README, or its own description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from colony.core.guess.reading import FILES, Found, Said, quiet, short, table
from colony.core.lines import clip

PURPOSE_MAX: Final = 600


def purpose_of(
    found: Found, package: Mapping[str, Any], python: Mapping[str, Any], cargo: Mapping[str, Any]
) -> Said | None:
    for name in FILES[:5]:
        if text := first_paragraph(found.get(name, "")):
            return Said(text, name)
    # Only where no README says it in its own words.
    for source, about in (
        ("package.json", package),
        ("pyproject.toml", table(python, "project")),
        ("Cargo.toml", table(cargo, "package")),
    ):
        if text := quiet(short(about.get("description"))):
            return Said(text, source)
    return None


def first_paragraph(readme: str) -> str:
    """The first paragraph of prose: no heading, badge, list, quote, table, HTML or code."""
    fenced = re.sub(r"^(```|~~~).*?^\1", "", readme, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n", fenced.replace("\r\n", "\n")):
        lines = [line.strip() for line in block.strip("\n").splitlines()]
        lines = [line for line in lines if not re.match(r"#|[=~^-]{3,}$", line)]
        text = " ".join(lines)
        if not text or re.match(r"\[?!\[|[<>|*+`]|- |\d+\. |\.\. |    ", text):
            continue
        if re.search(r"^[=-]{3,}\s*$", block, re.MULTILINE):
            continue
        return quiet(clip(text, PURPOSE_MAX))
    return ""
