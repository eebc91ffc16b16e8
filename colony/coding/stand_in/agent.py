"""The scripted stand-in as a coding agent: called like Claude Code, said so in every output."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Final

from colony.coding.claude import check_order, flags_of
from colony.coding.protocol import Invocation, PartFolders, PartOrder, Places
from colony.coding.quota import USAGE_FLAGS, read_usage
from colony.coding.stand_in.script import Object, load
from colony.coding.stream import read_steps, read_turn
from colony.core.lines import clip
from colony.core.turn import QuotaAnswer, Step, Turn

ROOT: Final = Path(__file__).parents[3]
"""The folder that holds the package `colony`."""
PACKAGE: Final = ROOT / "colony"
START: Final = (
    "import sys; sys.path[:0] = [sys.argv.pop(1)]; "
    "from colony.coding.stand_in.__main__ import main; main(sys.argv[1:])"
)
"""Isolated and without site packages, Python starts the stand-in in a few hundredths of a second
wherever Colony lies."""
STARTED: Final = (sys.executable, "-I", "-S", "-c", START, str(ROOT))
NAME_MAX: Final = 60
"""Characters of an account's name."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """`script` None plays the built-in small job."""

    script: Path | None = None

    @property
    def name(self) -> str:
        return "stand-in"

    def version_call(self) -> Invocation | None:
        return None

    def version_problem(self, output: str) -> str | None:
        del output
        return None

    def login_problem(self, environ: Mapping[str, str]) -> str | None:
        """What its script lacks: it is all that a run of it needs."""
        del environ
        if self.script is None:
            return None
        if not self.script.is_file():
            return f"the stand-in's script {self.script} is not there"
        try:
            load(str(self.script))
        except ValueError as error:
            return f"the stand-in's script cannot be played: {error}"
        except (OSError, AttributeError, TypeError, RecursionError):
            return f"the stand-in's script {self.script} cannot be played: it is no script"
        return None

    def login(self, environ: Mapping[str, str]) -> str:
        del environ
        return ""

    def account(self, environ: Mapping[str, str]) -> str:
        """The one that the script names; else empty, since a script needs none."""
        del environ
        named = clip(self._written().get("account", ""), NAME_MAX)
        return f"{self.name} {named}" if named else ""

    def login_mark(self, environ: Mapping[str, str]) -> str:
        del environ
        login = self._written().get("login", "")
        return hashlib.sha256(login.encode()).hexdigest() if login else ""

    def quota_call(self, environ: Mapping[str, str]) -> Invocation | None:
        del environ
        if "usage" not in self._written():
            return None
        return Invocation((*STARTED, *self._script(), *USAGE_FLAGS), {})

    def read_quota(self, output: str) -> QuotaAnswer:
        return read_usage(output, UTC)

    def invocation(
        self, order: PartOrder, folders: PartFolders, environ: Mapping[str, str]
    ) -> Invocation:
        """Takes nothing from `environ`. Raises as Claude's does for an order that is none."""
        del environ
        check_order(order)
        home = ("--stand-in-home", str(folders.config))
        return Invocation((*STARTED, *home, *self._script(), *flags_of(order)), {})

    @property
    def program(self) -> str:
        return sys.executable

    def places(self, environ: Mapping[str, str]) -> Places:
        """The interpreter that runs it, the package that it is part of, and its script."""
        del environ
        python = (Path(sys.executable), Path(sys.prefix), Path(sys.base_prefix))
        script = (self.script.absolute(),) if self.script else ()
        return Places(read=(*python, PACKAGE, *script))

    def read(self, stream: Iterable[str]) -> Turn:
        return read_turn(stream, UTC)

    def steps(self, stream: Iterable[str]) -> Iterator[Step]:
        return read_steps(stream)

    def _script(self) -> tuple[str, ...]:
        return ("--stand-in-script", str(self.script.absolute())) if self.script else ()

    def _written(self) -> Object:
        """The script as it is now; empty where there is none that could be played."""
        try:
            return load(str(self.script) if self.script else None)
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            return {}
