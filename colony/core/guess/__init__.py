"""What a repository shows of itself: its name, what it is for, how it is built and tested.

Everything here is somebody else's text: it is clipped, and becomes words in a file for a person to
check, never a command that is run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from colony.core.guess.commands import commands_of
from colony.core.guess.purpose import purpose_of
from colony.core.guess.reading import Found, Guess, package_of, short, table, toml_of

_PAGES: Final = frozenset(
    {"react", "vue", "svelte", "next", "nuxt", "astro", "@angular/core", "solid-js", "preact"}
)


def guess_from(found: Found) -> Guess:
    """What the files show; nothing where they cannot be read. Never raises for what they say."""
    package = package_of(found)
    python, cargo = toml_of(found, "pyproject.toml"), toml_of(found, "Cargo.toml")
    names = (
        short(package.get("name")).rpartition("/")[2],
        short(table(python, "project").get("name"))
        or short(table(table(python, "tool"), "poetry").get("name")),
        short(table(cargo, "package").get("name")),
        _go_name(found.get("go.mod", "")),
    )
    return Guess(
        name=next(filter(None, names), ""),
        purpose=purpose_of(found, package, python, cargo),
        commands=commands_of(found, package, python),
        pages="index.html" in found or bool(_PAGES & _dependencies(package)),
    )


def project_name(text: str) -> str:
    """A name as the registry takes it; empty where none can be made of the text."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:64].rstrip("-.")


def _dependencies(package: Mapping[str, Any]) -> frozenset[str]:
    return frozenset((*table(package, "dependencies"), *table(package, "devDependencies")))


def _go_name(text: str) -> str:
    module = re.search(r"^module\s+(\S{1,200})\s*$", text, re.MULTILINE)
    if module is None:
        return ""
    # A major version is no name: example.org/shop/v2.
    parts = [each for each in module[1].split("/") if not re.fullmatch(r"v\d+", each)]
    return parts[-1] if parts else ""
