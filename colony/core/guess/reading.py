"""What a repository is read in, and its files as values: somebody else's, whatever they hold."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from colony.core.lines import clip
from colony.core.strict_json import load_json

FILES: Final[tuple[str, ...]] = (
    "README.md", "README.rst", "README.txt", "README", "readme.md",
    "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock",
    "pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "requirements.txt", "uv.lock",
    "Cargo.toml", "go.mod", "Makefile", "makefile", "justfile", "composer.json", "pom.xml",
    "build.gradle", "build.gradle.kts", "Gemfile", "mix.exs", "index.html",
)  # fmt: skip
"""The files that are looked at, by name, at the top of the folder."""
TOML_MAX: Final = 64 * 1024
SHORT_MAX: Final = 200
_LONG_KEY: Final = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]{0,200}+"|'[^'\n]{0,200}+')[ \t]{0,9}+\.[ \t]{0,9}+){50}"""
)
"""A key of many parts, for which the reader takes quadratic time: nobody writes one."""

Found = Mapping[str, str]
"""The text of each of `FILES` that is there. Of those that only show by being there: empty."""


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    source: str
    """The file it was read in."""


@dataclass(frozen=True, slots=True)
class Command:
    task: str
    """`install`, `build`, `start`, `test`, `lint`."""
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Guess:
    name: str = ""
    """As the project calls itself; not yet the name of a registry file."""
    purpose: Said | None = None
    commands: tuple[Command, ...] = ()
    pages: bool = False
    """It has pages for people."""


def package_of(found: Found) -> Mapping[str, Any]:
    value = load_json(found.get("package.json", "{}"))
    return value if isinstance(value, dict) else {}


def toml_of(found: Found, name: str) -> Mapping[str, Any]:
    text = found.get(name, "")
    if len(text) > TOML_MAX or _LONG_KEY.search(text):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def table(value: object, key: str) -> Mapping[str, Any]:
    inner = value.get(key) if isinstance(value, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def short(value: object) -> str:
    return clip(value, SHORT_MAX) if isinstance(value, str) else ""


def quiet(text: str) -> str:
    """Without what would open or end a comment in the concept."""
    return text.replace("<!", "< !").replace("-->", "-- >").strip()
