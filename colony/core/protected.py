"""Places of a project that run something later: for the next session, the operator, or CI.

Who works in a box could leave there what is run outside of it (faults T8, F77). They are read-only
in the box; one that is not there yet cannot be, and is removed after the part. The registry's
`writable` names those that the workers of a project may change after all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

GIT: Final = (
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    ".git/objects/info/alternates",
)
AGENTS: Final = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".claude/commands",
    ".claude/agents",
    ".claude/skills",
    ".mcp.json",
)
SHELLS: Final = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".envrc",
    ".gitconfig",
)
EDITORS: Final = (".vscode", ".idea")
CI: Final = (
    ".github/workflows",
    ".github/actions",
    ".gitlab-ci.yml",
    ".circleci",
    ".forgejo/workflows",
    ".gitea/workflows",
    ".woodpecker.yml",
    ".woodpecker",
    ".travis.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
)
PROTECTED: Final = (*GIT, *AGENTS, *SHELLS, *EDITORS, *CI)
"""Relative to the folder in which a session works."""


def protected(writable: Collection[str]) -> tuple[str, ...]:
    """Those that stay closed: all but what `writable` names, itself or a folder above it."""

    def opened(place: str) -> bool:
        return any(f"{place}/".startswith(f"{each.rstrip('/')}/") for each in writable)

    return tuple(place for place in PROTECTED if not opened(place))


def on_the_way(places: Iterable[str]) -> tuple[str, ...]:
    """Each place after the folders that lead to it: a link in the place of one leads elsewhere."""
    out: dict[str, None] = {}
    for place in places:
        names = place.split("/")
        out |= dict.fromkeys("/".join(names[:count]) for count in range(1, len(names) + 1))
    return tuple(out)
