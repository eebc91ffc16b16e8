"""A newcomer's machine: an empty home, a small git project, the real Claude Code, a scripted model.

Nothing leaves the machine: the model server is on loopback, the key is made up, and whatever asks
for another address finds a closed door. No test leaves a process of its sessions behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from colony.host.clock import SystemClock
from colony.host.identity import command_of, identify, pids, session_of
from tests.acceptance.model import Model, serve_model

CLOCK = SystemClock()
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "@anthropic-ai/claude-code-linux-x64"
KEY = "sk-ant-made-up-key"
PORTS = 20_000 + os.getpid() % 400 * 30
"""Ports of this process alone, below those that the kernel hands out."""


def skip_or_fail(reason: str) -> None:
    """A missing part is a reason to skip on somebody's machine, and a failure in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def claude() -> str:
    """Where the program is: named, in the checkout's own npm folder, or on PATH."""
    named = os.environ.get("TEST_CLAUDE")
    own = ROOT / ".claude-npm" / "node_modules" / PACKAGE / "claude"
    found = named or (str(own) if own.exists() else shutil.which("claude"))
    if found is None or not Path(found).exists():
        skip_or_fail(f"no Claude Code: npm install --prefix .claude-npm {PACKAGE}, or TEST_CLAUDE")
    return str(found)


@pytest.fixture
def model() -> Iterator[Model]:
    with serve_model() as served:
        yield served


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def told(self, words: str) -> list[str]:
        """The lines that begin with these words."""
        return [line for line in self.lines if line.startswith(words)]


@dataclass
class Colony:
    """Runs `colony …` inside the project's folder, in a process of its own."""

    home: Path
    project: Path
    environ: dict[str, str]
    python: tuple[str, ...] = (sys.executable,)
    """The interpreter, with what starts it before it."""
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def argv(self, *words: str) -> list[str]:
        return [*self.python, "-m", "colony", *words]

    def __call__(self, *words: str, **environ: str) -> Done:
        done = subprocess.run(
            self.argv(*words),
            cwd=self.project,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *words: str, **environ: str) -> subprocess.Popen[bytes]:
        """The same, not waited for; ended with the test."""
        process = subprocess.Popen(
            self.argv(*words),
            cwd=self.project,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def hang(self, flag: Path, *words: str) -> subprocess.Popen[bytes]:
        """Start a command whose agent runs `waiting(flag)`, and wait until it does."""
        process = self.start(*words)
        until(lambda: flag.exists() or process.poll() is not None, 60)
        assert flag.exists(), process.communicate()
        return process

    def remembers(self, words: str) -> None:
        """Wait until the real program's transcript holds these words: it is written a moment after
        they were said, and what a SIGKILL comes before is not in the conversation any more."""
        [run] = self.runs
        until(lambda: any(words in each.read_text() for each in transcripts(run)), 10)

    def end(self) -> None:
        """The end of a test: nothing of any of its sessions is left."""
        for process in self.started:
            process.kill()
            process.communicate()
        left = carriers(*(run.name for run in self.runs))
        end(left)
        assert not left

    def register(self, name: str = "shop", **keys: Any) -> None:
        """The project's registry file."""
        entry = {"name": name, "dev": {"folder": str(self.project)}, "concept": "CONCEPT.md"}
        projects = self.home / "projects"
        projects.mkdir(parents=True, exist_ok=True)
        (projects / f"{name}.json").write_text(json.dumps(entry | keys))

    def ticket(self, subject: str, summary: str = "") -> None:
        made = self("ticket", "new", subject, "--project", "shop", "--summary", summary)
        assert made.code == 0, made

    def shown(self, number: int = 1) -> list[dict[str, Any]]:
        """A ticket with its history, machine lines too."""
        done = self("ticket", "show", "shop", str(number), "--full", "--json")
        assert done.code == 0, done
        return [json.loads(line) for line in done.lines]

    def state(self, number: int = 1) -> str:
        return str(self.shown(number)[0]["state"])

    def history(self, number: int = 1) -> str:
        """Every text of a ticket."""
        return "\n".join(each.get("text", "") for each in self.shown(number))

    @property
    def runs(self) -> list[Path]:
        """The run folders, oldest first."""
        folder = self.home / "runs"
        return sorted(folder.glob("s-*"))

    def record(self, run: Path | None = None) -> dict[str, Any]:
        """`session.json` of the only run folder, or of this one."""
        [run] = [run] if run else self.runs
        found: dict[str, Any] = json.loads((run / "session.json").read_text())
        return found


def transcripts(run: Path) -> list[Path]:
    """Where the real program keeps the conversations of a session."""
    return list((run / "agent" / "projects").rglob("*.jsonl"))


def carriers(*sessions: str) -> dict[int, str]:
    """Live processes, with their commands, that carry one of these names as `COLONY_SESSION`."""
    return {pid: command_of(pid) for pid in pids() if session_of(pid) in sessions and identify(pid)}


def marked(mark: str) -> dict[int, str]:
    """Live processes whose command line holds this mark, whatever their environment says."""
    return {pid: command_of(pid) for pid in pids() if mark.encode() in whole_command(pid)}


def end(left: Iterable[int]) -> None:
    """A test that fails leaves nothing either."""
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def whole_command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def prints(*folders: Path) -> dict[str, str]:
    """Every file with a hash of what is in it."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def until(happened: Callable[[], object], seconds: float) -> None:
    """Look again and again until it happened; fail when it does not."""
    deadline = CLOCK.boot_s() + seconds
    while not happened():
        assert CLOCK.boot_s() < deadline, "it did not happen in time"
        select.select([], [], [], 0.01)


def clean_environment(home: Path, model: Model) -> dict[str, str]:
    """Everything that the commands see."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home.parent),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": model.url,
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "COLONY_HOME": str(home),
        "COLONY_PERSON": "anna",
        "COLONY_HOST": "here",
        "COLONY_PERMISSION_MODE": "acceptEdits",
        "COLONY_PORT_POOL": f"{PORTS}-{PORTS + 29}",
        # What workers run here is this Python.
        "COLONY_SANDBOX_RO": f"{sys.prefix}:{sys.base_prefix}",
    }


def git(folder: Path, *words: str) -> str:
    """Git without anybody's settings."""
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", "-c", "user.name=anna", "-c", "user.email=anna@example.org", *words],
        cwd=folder, env=clean, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def make_project(folder: Path) -> Path:
    """A small repository with a concept and a word to every coding agent."""
    folder.mkdir(parents=True)
    (folder / "CONCEPT.md").write_text("# A shop\n\nA price list that adds up.\n")
    (folder / "CLAUDE.md").write_text("Prices are whole cents, says the house rule.\n")
    (folder / "prices.txt").write_text("tea 250\nmilk 120\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "A price list")
    return folder


@pytest.fixture
def colony(tmp_path: Path, model: Model) -> Iterator[Colony]:
    """Colony with an empty home, beside a project that it does not know yet."""
    home = tmp_path / "home"
    made = Colony(home, make_project(tmp_path / "shop"), clean_environment(home, model))
    yield made
    made.end()


@pytest.fixture
def shop(colony: Colony) -> Colony:
    """The project is registered, with leave to run commands, and has the ticket `shop#1`."""
    colony.register(allowedTools=["Bash"])
    colony.ticket("A total", "Write the sum of all prices into `total.txt`.")
    return colony


@pytest.fixture
def real(shop: Colony, claude: str) -> Colony:
    """The same, with the real program as worker and controller."""
    shop.environ["COLONY_CLAUDE"] = claude
    return shop
