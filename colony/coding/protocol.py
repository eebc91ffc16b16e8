"""A coding agent as the rest of Colony sees it.

An agent says how it is called and how its stream reads. It starts nothing: `host/` runs the
process, `flow/` brings the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from colony.core.turn import QuotaAnswer, Step, Turn


@dataclass(frozen=True, slots=True)
class PartOrder:
    """One run to be made: what to run it with, never where its files lie."""

    schema: str
    """JSON Schema of the answer, as text."""
    agent_session: str
    """A fresh UUID, or the one to resume."""
    resume: bool
    model: str
    max_turns: int
    permission_mode: str
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_budget_usd: float | None = None
    project_settings: bool = False
    """Let the work tree's own agent settings, hooks and MCP servers load."""


@dataclass(frozen=True, slots=True)
class PartFolders:
    """Folders of the session, made by the caller: the agent's configuration, and scratch space."""

    config: Path
    tmp: Path


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command line and the agent's own environment; the prompt goes to its standard input."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Places:
    """What an agent's program needs of this machine beside the system, in a box of an allowlist.
    Paths are absolute; one that is not there is passed over."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    own: tuple[tuple[str, Path], ...] = ()
    """(a name in the session's folder for its configuration, where the program looks for it)."""
    copies: tuple[tuple[Path, str], ...] = ()
    """(a file, the name in that folder of its copy): made before a part where it is not there."""
    fixed: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    """(a folder of `write`, names in it that no agent may make or change)."""


class CodingAgent(Protocol):
    @property
    def name(self) -> str:
        """The word in every output that names the agent (`claude`, `stand-in`)."""
        ...

    def version_call(self) -> Invocation | None:
        """A cheap call whose output `version_problem` judges; None: there is nothing to ask."""
        ...

    def version_problem(self, output: str) -> str | None:
        """Why this program cannot be used (not it, too old), in one line; None when it can."""
        ...

    def login_problem(self, environ: Mapping[str, str]) -> str | None:
        """Why no run could log in, as far as variables and files tell; else None."""
        ...

    def login(self, environ: Mapping[str, str]) -> str:
        """Which login a run would use, in words that hold no secret; empty: it needs none."""
        ...

    def account(self, environ: Mapping[str, str]) -> str:
        """The account that a run would use, by a name without a secret that outlives a refresh of
        its token: what holds one login holds all runs of that name. Empty: it needs none."""
        ...

    def login_mark(self, environ: Mapping[str, str]) -> str:
        """A fingerprint (hexadecimal) of the login's material: another one after somebody logged
        in again or set another key. Empty where there is none. Reads files, starts nothing."""
        ...

    def quota_call(self, environ: Mapping[str, str]) -> Invocation | None:
        """A call without a prompt that costs nothing and tells how full the account's windows are,
        for `read_quota`. None: this login never tells."""
        ...

    def read_quota(self, output: str) -> QuotaAnswer:
        """What a quota call printed. Never raises for what it says."""
        ...

    def invocation(
        self, order: PartOrder, folders: PartFolders, environ: Mapping[str, str]
    ) -> Invocation:
        """How to make this run. `environ` is Colony's own environment: the agent picks from it what
        is its own (keys, base URL, login folder), and nothing else."""
        ...

    def places(self, environ: Mapping[str, str]) -> Places:
        """What its box must show, and what of that is closed. Reads links, starts nothing."""
        ...

    @property
    def program(self) -> str:
        """The program that is started: a path, or a name on PATH."""
        ...

    def read(self, stream: Iterable[str]) -> Turn:
        """Fold the lines of a stream, whole or cut anywhere, into one Turn. Never raises for what
        the lines say."""
        ...

    def steps(self, stream: Iterable[str]) -> Iterator[Step]:
        """What happened, in order: the agent's words, its tool calls, their results."""
        ...
