"""The program as it is installed: a process of its own, a clean environment, a home of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HURRIED = """if True:
    import sys
    exec(sys.argv[1])
    from colony.cli.app import main
    sys.exit(main(sys.argv[2:]))
"""
ONE_TRY = (
    "from colony.tracker.http import client;"
    " client.Http.__init__.__kwdefaults__['patience'] = client.QUICK"
)
"""A server that is not there is not asked for a quarter of a minute."""


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def error(self) -> str:
        """The one line on stderr."""
        [line] = self.err.splitlines()
        return line


@dataclass
class Colony:
    """Runs `colony …` in `cwd`; `home` is its home folder."""

    cwd: Path
    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __call__(self, *words: str | bytes, stdin: bytes = b"", **environ: str) -> Done:
        return self._run([sys.executable, "-m", "colony", *words], stdin, environ)

    def _run(self, argv: list[str | bytes], stdin: bytes, environ: dict[str, str]) -> Done:
        done = subprocess.run(
            argv,
            cwd=self.cwd,
            env=self.environ | environ,
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    def hurried(self, change: str, *words: str, **environ: str) -> Done:
        """The command, after `change`: a statement that cuts one of the program's waits."""
        return self._run([sys.executable, "-c", HURRIED, change, *words], b"", environ)

    def register(self, name: str, text: str | None = None, **keys: Any) -> Path:
        """A registry file with a dev folder and a concept, or with just this text."""
        folder = self.cwd / f"dev-{name}"
        folder.mkdir(exist_ok=True)
        (folder / "CONCEPT.md").write_text("# A shop\n")
        entry = {"name": name, "dev": {"folder": str(folder)}, "concept": "CONCEPT.md"} | keys
        projects = self.home / "projects"
        projects.mkdir(parents=True, exist_ok=True)
        file = projects / f"{name}.json"
        file.write_text(json.dumps(entry) if text is None else text)
        return file


@pytest.fixture
def colony(tmp_path: Path) -> Colony:
    home = tmp_path / "home"
    cwd = tmp_path / "work"
    cwd.mkdir()
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "COLONY_HOME": str(home),
        "COLONY_PERSON": "anna",
    }
    return Colony(cwd, home, environ)


@pytest.fixture
def shop(colony: Colony) -> Callable[..., Done]:
    """A colony with one project and one ticket, `shop#1`."""
    colony.register("shop")
    assert colony("ticket", "new", "A cart").code == 0
    return colony
