"""A home with projects, tickets and a scripted agent; and what is there afterwards."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jsonschema

from colony.core.lines import KINDS, Line
from colony.core.texts import lease as lease_texts
from colony.core.ticket import Event, Me, NewTicket, Ref, State, Ticket
from colony.flow.wiring.trackers import DERIVE
from colony.tracker.embedded import Embedded, open_tracker
from tests.cli.conftest import ROOT, Colony, Done

PORTS = 10_000 + os.getpid() % 300 * 30
"""Ports of this process alone."""
SESSION = "s-20260131T1819-abc123"
OTHER = "s-20260131T1819-def456"
LINES = jsonschema.Draft202012Validator(
    json.loads((ROOT / "templates/lines.schema.json").read_text())
)
START_MS = 1_790_000_000_000


@dataclass
class Stage(Colony):
    """`Colony` with ways to set the scene quickly, and to look behind it."""

    now_ms: int = START_MS
    """The clock of what the tests write themselves: a second a write."""
    keys: Iterator[int] = field(default_factory=lambda: iter(range(10**6)))

    @property
    def database(self) -> Path:
        return self.home / "colony.db"

    def script(self, **parts: Any) -> None:
        """What the agent plays from now on; asked once more, it says nothing of use."""
        self.home.mkdir(parents=True, exist_ok=True)
        silent = {"finalize": [{"say": "no"}], "fix": [{"say": "no"}]}
        (self.home / "script.json").write_text(json.dumps(silent | parts))

    @contextmanager
    def tracker(self, user: str = "anna", *, machine: bool = False) -> Iterator[Embedded]:
        """`anna` is the owner; other persons are strangers, unless they are members."""
        self.home.mkdir(parents=True, exist_ok=True)
        opened = open_tracker(
            f"sqlite:///{self.database}",
            me=Me(user, "", machine=machine, owner=user == "anna"),
            clock=self._tick,
            derive=DERIVE,
            create=True,
        )
        try:
            yield opened
        finally:
            opened.close()

    def _tick(self) -> int:
        self.now_ms += 1000
        return self.now_ms

    def key(self) -> str:
        return f"test:{next(self.keys)}"

    def ticket(
        self, project: str = "shop", subject: str = "A cart", summary: str = "", **more: Any
    ) -> Ref:
        """A new ticket of `user` (anna)."""
        user = more.pop("user", "anna")
        with self.tracker(user) as tracker:
            new = NewTicket(project, subject, summary, **more)
            return tracker.create(new, key=self.key()).ticket.ref

    def move(self, ref: Ref, state: State, text: str = "", *, machine: bool = False) -> None:
        with self.tracker("colony" if machine else "anna", machine=machine) as tracker:
            tracker.move(ref, state, key=self.key(), text=text)

    def comment(self, ref: Ref, text: str, user: str = "anna", *, machine: bool = False) -> None:
        with self.tracker(user, machine=machine) as tracker:
            tracker.comment(ref, text, key=self.key())

    def lease(self, ref: Ref, until_ms: int, session: str = SESSION, host: str = "there") -> None:
        """The ticket in progress, leased as Colony leases."""
        self.move(ref, "progress", lease_texts.started(session, host, until_ms), machine=True)

    def row(self, ref: Ref) -> Ticket:
        with self.tracker() as tracker:
            return tracker.ticket(ref).ticket

    def events(self, ref: Ref) -> tuple[Event, ...]:
        with self.tracker() as tracker:
            return tracker.ticket(ref).events

    def texts(self, ref: Ref) -> str:
        return "\n".join(event.text for event in self.events(ref))

    def rows(self, project: str = "shop") -> tuple[Ticket, ...]:
        with self.tracker() as tracker:
            return tracker.tickets(project)

    def store(self) -> list[str]:
        """Everything that the tracker holds, but for its memory of what it has answered, and for
        what sessions and hosts tell of themselves."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as opened:
            rows = opened.iterdump()
            news = tuple(f'INSERT INTO "{name}"' for name in ("answers", "sessions", "hosts"))
            return [row for row in rows if not row.startswith(news)]

    @property
    def runs(self) -> list[Path]:
        folder = self.home / "runs"
        return sorted(folder.glob("s-*"))

    @property
    def run(self) -> Path:
        """The only run folder."""
        [run] = self.runs
        return run

    def record(self, run: Path | None = None) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(((run or self.run) / "session.json").read_text())
        return found

    def start(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        """The command, not waited for."""
        return subprocess.Popen(
            [sys.executable, "-m", "colony", *words],
            cwd=self.cwd, env=self.environ | environ, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def unread(self, *words: str) -> tuple[int, str]:
        """Status and stderr of the command where its reader is gone, as with `| head -1`."""
        reads, writes = os.pipe()
        os.close(reads)
        with os.fdopen(writes, "wb") as gone:
            done = subprocess.run(
                [sys.executable, "-m", "colony", *words],
                cwd=self.cwd, env=self.environ, text=True, stdin=subprocess.DEVNULL,
                stdout=gone, stderr=subprocess.PIPE, timeout=60, check=False,
            )  # fmt: skip
        return done.returncode, done.stderr


CART: Final = Ref("shop", 1)


def moves(stage: Stage, ref: Ref = CART) -> list[str]:
    """The states that the ticket was moved to."""
    return [event.after for event in stage.events(ref) if event.kind == "state"]


def a_cart(folder: Path) -> Stage:
    """`shop#1`, "A cart", that a worker reports on."""
    stage = make_stage(folder)
    stage.register("shop")
    stage.ticket(subject="A cart")
    stage.script(work=[answer()])
    return stage


def make_stage(folder: Path) -> Stage:
    """An empty home beside a working folder; the agent is the stand-in, with an empty script."""
    home, cwd = folder / "home", folder / "work"
    cwd.mkdir()
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "COLONY_HOME": str(home),
        "COLONY_PERSON": "anna",
        "COLONY_HOST": "here",
        "COLONY_AGENT": "stand-in",
        "COLONY_STAND_IN_SCRIPT": str(home / "script.json"),
        "COLONY_SANDBOX": "off",
        "COLONY_PORT_POOL": f"{PORTS}-{PORTS + 29}",
    }
    stage = Stage(cwd, home, environ)
    stage.script()
    return stage


def answer(**changes: Any) -> dict[str, Any]:
    """The last action of a worker: a report whose one claim holds."""
    report = {
        "result": "There is a cart now.",
        "complete": True,
        "test": ["Open the shop.", "See the cart."],
        "done": ["wrote cart.txt"],
        "verified": [{"claim": "the cart is there", "command": "echo cart", "output": "cart\n"}],
    }
    return {"answer": {**report, **changes}}


def verdict(word: str, status: str, **changes: Any) -> dict[str, Any]:
    """The last action of a controller: a verdict with one finding."""
    finding = {
        "claim": "the cart is there",
        "about": "verified",
        "status": status,
        "check": "looked at it",
    }
    said = {"verdict": word, "findings": [finding], "questions": [], "summary": "Looked at it."}
    return {"answer": {**said, **changes}}


LIE = answer(verified=[{"claim": "there", "command": "cat missing.txt", "output": "a cart"}])
"""A report that the stand-in's own check finds out."""


def valid(done: Done) -> list[dict[str, Any]]:
    """The JSON lines, each held against the schema of lines; nothing stands beside them."""
    assert done.err == ""
    for each in done.objects:
        LINES.validate(each)
    return done.objects


def told(objects: list[dict[str, Any]]) -> list[str]:
    """JSON lines as the text that they stand for."""
    return [Line(each["kind"], each.get("text", "")).as_text() for each in objects]


def timeless(lines: list[str]) -> list[str]:
    """Lines without what differs from one session to the next."""
    text = "\n".join(lines)
    text = re.sub(r"s-[0-9]{8}T[0-9]{4}-[0-9a-f]{6}", "S", text)
    text = re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} UTC", "T", text)
    text = re.sub(r"[0-9.]+ s ·", "N s ·", text)
    return re.sub(r"shop#[0-9]+|shop-[0-9]+|ports [0-9]+-[0-9]+", "P", text).splitlines()


def first_words(done: Done) -> list[str]:
    """Which lines there are, details left out."""
    known = sorted(filter(None, KINDS.values()), key=len, reverse=True)
    found = (next((each for each in known if line.startswith(each)), "") for line in done.lines)
    return [each for each in found if each]
