"""A shop to work in: a project with a ticket, a real tracker, a real stand-in, a clock by hand.

Parts are real processes in the containment of this machine, run folders are real. Time goes on as
it does, and by as much more as somebody waits: a pause takes no time.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from colony.coding.protocol import CodingAgent
from colony.coding.stand_in.agent import StandIn
from colony.core.codec import from_json, to_json
from colony.core.last_line import Ended, ended
from colony.core.lines import Json, Line
from colony.core.outbox import Effect
from colony.core.schema import compiled
from colony.core.session import Facts, Runner, Setup
from colony.core.ticket import Event, History, Me, NewTicket, Ref, State
from colony.flow import work
from colony.flow.bench import Bench, Schema
from colony.flow.briefing import Sources
from colony.flow.following import Doing
from colony.flow.hold import Holder
from colony.flow.observe import Viewpoint
from colony.flow.part import Place
from colony.flow.previous import told_to
from colony.flow.render import Templates
from colony.host.box import Containment, detect
from colony.host.clock import SystemClock
from colony.host.journal import RunFolder, list_runs
from colony.host.registry import Registry, read_registry
from colony.host.signals import StopSignals
from colony.tracker.embedded import Embedded
from colony.tracker.http.client import PATIENT, Http, Patience, Surroundings
from colony.tracker.http.edge import HttpTracker
from colony.tracker.protocol import Tracker, Written
from colony.tracker.reader import FEATURES
from tests.fakes import served
from tests.fakes.meddled import Meddle, Meddled, tracker_of
from tests.fakes.pretended import HandToken

ROOT: Final = Path(__file__).resolve().parents[2]
TEMPLATES: Final = ROOT / "templates"
TTL_MS: Final = 7_200_000
HOST: Final = "box1"
SHOP: Final = Ref("shop", 1)
RUNNER: Final = Runner("stand-in", "", "sonnet", 40, 60, "auto")

Script = dict[str, Any]

NOTE: Final[Script] = {"run": "echo a note"}
DONE: Final[Script] = {
    "result": "The gate opens again.",
    "complete": True,
    "test": ["Open the gate.", "It opens."],
    "done": ["mended the gate"],
    "verified": [{"claim": "a note", "command": "echo a note", "output": "{output}"}],
}


def worker(**changes: Any) -> list[Script]:
    """What a worker does that reports; `changes` are keys of its report."""
    return [NOTE, {"answer": DONE | changes}]


ISSUE: Final = {
    "project": "shop",
    "subject": "The hinge is loose",
    "repro": "Push the gate",
    "observed": "it falls",
    "expected": "it swings",
    "blocks": True,
}
ASKS: Final = {"title": "Which colour?", "text": "Red or green?"}
FALSE: Final = [{"claim": "a note", "command": "echo a note", "output": "something else"}]


def verdict(**changes: Any) -> list[Script]:
    """What a controller answers, with the neutral values of its schema."""
    finding = {"claim": "a note", "about": "verified", "status": "ok", "check": "ran it"}
    return [{"answer": {"verdict": "pass", "findings": [finding], "questions": []} | changes}]


class Time:
    """The clocks of this machine, moved on by hand."""

    def __init__(self) -> None:
        self._system = SystemClock()
        self.ahead_s = 0.0

    def wall_ms(self) -> int:
        return self._system.wall_ms() + round(self.ahead_s * 1000)

    def boot_s(self) -> float:
        return self._system.boot_s() + self.ahead_s

    def boot_id(self) -> str:
        return self._system.boot_id()

    def pass_by(self, seconds: float) -> None:
        self.ahead_s += seconds


class Waits(StopSignals):
    """Stop signals that nobody sends; who waits for them lets the time pass by."""

    def __init__(self, time: Time) -> None:
        super().__init__()
        self._time = time

    def wait(self, seconds: float) -> None:
        self._time.pass_by(seconds)
        self.drain()


class Dice:
    """Chance that can be told apart: no two sessions of this machine have the same name, because
    whatever carries the name of a session is ended before and after each of its parts."""

    def session_id(self, now_ms: int) -> str:
        return f"s-20260131T1819-{os.getpid() % 4096:03x}{next(_SESSIONS):03x}"

    def uuid4(self) -> str:
        return str(uuid.uuid4())

    def fraction(self) -> float:
        return 0.5


_SESSIONS: Final = itertools.count(1)


@functools.cache
def contained() -> Containment:
    return detect("off", SystemClock())


@functools.cache
def templates() -> Templates:
    """As a process keeps them: compiled once."""
    return Templates(TEMPLATES)


@functools.cache
def schema_of(name: str) -> Schema:
    value: Json = json.loads((TEMPLATES / f"{name}.schema.json").read_text("utf-8"))
    return Schema(value, compiled(value, name))


Saved = Callable[[str], None]
"""Called with `before` and `after` at each commit of `session.json`; may raise."""


def brittle(folder: RunFolder, saved: Saved | None) -> RunFolder:
    """The run folder, with somebody who stands at its commits."""
    if saved is None:
        return folder
    stood_at = saved

    class Brittle(RunFolder):
        def save_json(self, record: Mapping[str, Json]) -> None:
            stood_at("before")
            RunFolder.save_json(self, record)
            stood_at("after")

    return Brittle(folder.path)


@dataclass
class Shop:
    """The project `shop` on a tracker of its own; `shop#1` is its ticket, anna its creator."""

    folder: Path
    url: str = "sqlite:///:memory:"
    edge: Literal["embedded", "http"] = "embedded"
    """How its users reach the tracker."""
    time: Time = field(default_factory=Time)
    dice: Dice = field(default_factory=Dice)
    lines: list[Line] = field(default_factory=list)
    doings: list[Doing | None] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})
    signals: StopSignals | None = None
    keys: itertools.count[int] = field(default_factory=itertools.count)
    pass_env: frozenset[str] = frozenset()
    creator_names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        fresh = not self.dev.exists()
        if fresh:
            self.dev.mkdir(parents=True)
            (self.dev / "CONCEPT.md").write_text("# A shop with a gate\n")
            self.register()
            self.play()
        self.store = served.store_at(self.url, self.time.wall_ms)
        self.stack = ExitStack()
        self.stack.enter_context(closing(self.store))
        self.server = ""
        if self.edge == "http":
            self.server = self.stack.enter_context(served.serving(self.store))
        self.anna = self.tracker(Me("anna", "", machine=False, owner=True))
        self.colony = self.tracker(Me("colony", "", machine=True, owner=False))
        self.waits = Waits(self.time)
        if fresh:
            new = NewTicket("shop", "Mend the gate", "It does not open.")
            assert self.anna.create(new, key="first").ticket.ref == SHOP

    def close(self) -> None:
        self.stack.close()
        assert self.store.bugs == []
        with self.waits:  # closes its pipe
            pass

    def tracker(self, me: Me) -> Tracker:
        """The tracker by this user's hand."""
        if self.edge == "embedded":
            return Embedded(self.store.service, me)
        secret = self.store.token(me.user, owner=me.owner, machine=me.machine)
        return self.reached(self.server, secret)

    def reached(self, url: str, secret: str, patience: Patience = PATIENT) -> Tracker:
        """The tracker through an address of its server, or of what stands before it."""
        around = Surroundings(self.time, self.dice.fraction, self.time.pass_by)
        token = HandToken(secret)
        http = Http(url, token=token, user_agent="test", around=around, patience=patience)
        self.stack.enter_context(closing(http))
        return HttpTracker(http, FEATURES, self.time.wall_ms)

    # --- places --------------------------------------------------------------------------

    @property
    def dev(self) -> Path:
        return self.folder / "dev"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def register(self, **keys: Any) -> None:
        """The registry file of the shop, with these keys more."""
        entry = {"name": "shop", "dev": {"folder": str(self.dev)}, "concept": "CONCEPT.md"} | keys
        projects = self.folder / "projects"
        projects.mkdir(exist_ok=True)
        (projects / "shop.json").write_text(json.dumps(entry))

    def play(self, **script: Any) -> None:
        """From now on the stand-in plays this; without `work` a worker that reports."""
        self.script.write_text(json.dumps({"work": worker()} | script))

    @property
    def script(self) -> Path:
        return self.folder / "script.json"

    @property
    def registry(self) -> Registry:
        return read_registry(self.folder / "projects", self.folder, HOST)

    # --- sessions ------------------------------------------------------------------------

    def agent(self, runner: Runner) -> CodingAgent:
        return StandIn(Path(runner.program))

    def bench(
        self, folder: RunFolder, tracker: Tracker | None = None, saved: Saved | None = None
    ) -> Bench:
        used = tracker or self.colony
        sources = Sources(
            tracker=used,
            templates=templates(),
            registry=self.registry,
            home=self.folder,
            creator_names=self.creator_names,
            report_schema=schema_of("report").value,
            ui_conventions="",
            max_chars=200_000,
            runs_dir=self.runs,
            told=told_to(used),
        )
        signals = self.signals or self.waits
        place = Place(brittle(folder, saved), contained(), self.time, signals, self.environ)
        return Bench(
            tracker=used,
            view=Viewpoint(self.registry, HOST, "members", self.creator_names),
            sources=sources,
            place=place,
            chance=self.dice,
            agent_for=self.agent,
            version_problem=lambda agent: agent.version_problem(""),
            report=schema_of("report"),
            verdict=schema_of("verdict"),
            pass_env=self.pass_env,
            secrets=self.secrets,
            emit=self.lines.append,
            doing=self.doings.append,
        )

    def runner(self, **changes: Any) -> Runner:
        return replace(RUNNER, program=str(self.script), **changes)

    def setup(self, **changes: Any) -> Setup:
        runner = self.runner()
        made = Setup(
            worker=runner,
            controller=runner,
            folder=str(self.dev),
            ports=(8700, 8709),
            live="",
            project_settings=False,
            max_fails=2,
            ttl_ms=TTL_MS,
            heartbeat_ms=TTL_MS // 2,
            sandbox="off",
            finalize_max_turns=0,
        )
        return replace(made, **changes)

    def new(self, *, post: bool = True, session: str = "", **changes: Any) -> Facts:
        """A new session of `shop#1` with its run folder; `changes` are of its setup."""
        now_ms = self.time.wall_ms()
        name = session or self.dice.session_id(now_ms)
        facts = Facts(name, SHOP, HOST, post, now_ms, self.setup(**changes))
        RunFolder.make(self.runs, name)
        self.put(facts)
        return facts

    def put(self, facts: Facts) -> None:
        """Write the facts of a session down."""
        record = to_json(facts)
        assert isinstance(record, dict)
        self.folder_of(facts.session).save_json(record)

    def folder_of(self, session: str) -> RunFolder:
        return RunFolder(self.runs / session)

    def facts(self, session: str) -> Facts:
        """As they are on disk."""
        record = self.folder_of(session).load_json()
        assert isinstance(record, dict), record
        return from_json(Facts, record)

    def go(self, session: str, meddle: Meddle | None = None, saved: Saved | None = None) -> Ended:
        """A process takes the session from its run folder forward."""
        tracker = self.colony if meddle is None else tracker_of(Meddled(self.colony, meddle))
        return self.go_by(session, tracker, saved)

    def go_by(self, session: str, tracker: Tracker, saved: Saved | None = None) -> Ended:
        facts = self.facts(session)
        bench = self.bench(self.folder_of(session), tracker, saved)
        session_, step = work.run(bench, facts)
        return ended(session_.facts, step, "work")

    def work(self, *, meddle: Meddle | None = None, post: bool = True, **setup: Any) -> Ended:
        """A whole session of its own."""
        return self.go(self.new(post=post, **setup).session, meddle)

    def post_leave(self, session: str) -> None:
        """The session may write its outcome from now on."""
        self.put(replace(self.facts(session), post=True))

    def holder(self, session: str, tracker: Tracker | None = None, ttl_ms: int = TTL_MS) -> Holder:
        return Holder(
            tracker=tracker or self.colony,
            clock=self.time,
            ref=SHOP,
            session=session,
            host=HOST,
            ttl_ms=ttl_ms,
            pause=self.time.pass_by,
        )

    # --- the ticket ----------------------------------------------------------------------

    def says(self, text: str, ref: Ref = SHOP) -> None:
        """anna comments."""
        assert isinstance(self.anna.comment(ref, text, key=self.key()), Written)

    def moves(self, state: State, text: str = "", ref: Ref = SHOP) -> None:
        """anna moves the ticket."""
        assert isinstance(self.anna.move(ref, state, text=text, key=self.key()), Written)

    def key(self) -> str:
        return f"anna-{next(self.keys)}"

    def history(self, ref: Ref = SHOP) -> History:
        return self.colony.ticket(ref)

    @property
    def state(self) -> State:
        return self.history().ticket.state

    def told(self, ref: Ref = SHOP) -> list[str]:
        """What Colony wrote into the ticket, oldest first."""
        return [each.text for each in self.history(ref).events if each.machine and each.text]

    @property
    def others(self) -> list[Ref]:
        """The tickets beside `shop#1`."""
        return [each.ref for each in self.colony.tickets("shop") if each.ref != SHOP]

    @property
    def sessions(self) -> list[str]:
        """Names of the run folders that are there."""
        return [each.session for each in list_runs(self.runs)]

    def kinds(self) -> list[str]:
        """Kinds of the lines that were printed."""
        return [each.kind for each in self.lines]


@dataclass
class Judged:
    """A session that has a verdict and has written nothing of it, to be posted again and again."""

    base: Path
    script: Script
    setup: dict[str, Any] = field(default_factory=dict)
    edge: Literal["embedded", "http"] = "embedded"
    made: list[Shop] = field(default_factory=list)

    def __post_init__(self) -> None:
        shop = Shop(self.base / "first", self._url(self.base / "first"), self.edge)
        shop.play(**self.script)
        self.session = shop.work(post=False, **self.setup).facts.session
        shop.post_leave(self.session)
        shop.close()
        self.ahead_s = shop.time.ahead_s

    def again(self) -> Shop:
        """A shop of its own in which the session is about to be posted."""
        self.close()
        folder = self.base / f"copy-{next(_COPIES)}"
        shutil.copytree(self.base / "first", folder)
        shop = Shop(folder, self._url(folder), self.edge)
        shop.time.pass_by(self.ahead_s)
        self.made.append(shop)
        return shop

    def close(self) -> None:
        while self.made:
            shop = self.made.pop()
            shop.close()
            shutil.rmtree(shop.folder)

    def _url(self, folder: Path) -> str:
        return f"sqlite:///{folder}/colony.db"


_COPIES: Final = itertools.count(1)


def shape(events: tuple[Event, ...]) -> list[tuple[str, str, str, str]]:
    """What happened to a ticket, without ids and times."""
    return [(each.kind, each.author, each.before, each.after) for each in events]


def outbox_of(facts: Facts) -> list[Effect]:
    """The outbox as it was rendered, whatever has been sent of it."""
    plain = {"status": "planned", "why": "", "made": None, "url": "", "event": 0}
    return [replace(each, **plain) for each in facts.outbox]  # type: ignore[arg-type]


def environ_of(shop: Shop, home: Path) -> dict[str, str]:
    """What a process of its own needs to work in the shop, from that home."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "COLONY_HOME": str(home),
        "COLONY_TICKETS_URL": shop.url,
        "COLONY_AGENT": "stand-in",
        "COLONY_STAND_IN_SCRIPT": str(shop.script),
        "COLONY_SANDBOX": "off",
        "COLONY_HOST": HOST,
    }


def a_home(shop: Shop, name: str) -> Path:
    """Another home for the same tracker, with a work folder of its own."""
    home = shop.folder / name
    shutil.copytree(shop.dev, home / "dev")
    shutil.copytree(shop.folder / "projects", home / "projects")
    entry = {"name": "shop", "dev": {"folder": "dev"}, "concept": "CONCEPT.md"}
    (home / "projects" / "shop.json").write_text(json.dumps(entry))
    return home
