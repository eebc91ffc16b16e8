"""One seed, one run: a day of schedulers, agents and people, its faults, and the healing."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM

from colony.core.ticket import Me
from colony.flow.runs import not_ended
from colony.flow.wiring.trackers import DERIVE
from colony.tracker.embedded import Embedded, open_service
from tests.simulation.account import Account, Agents, Temper
from tests.simulation.kernel import DAY_S, Process, World
from tests.simulation.machines import BASE_MS, CHILDREN, Host, files_of
from tests.simulation.network import CALM, Network, Weather
from tests.simulation.oracle import Oracle
from tests.simulation.people import Manner, People
from tests.simulation.programs import Home, Options, Stage

HEAL_S = 20 * 3600.0
"""Faults until then; afterwards everything must come to an end."""
END_S = 4 * DAY_S
PROJECTS = ("mill", "shop")


NEEDED = (
    "tracker busy", "request lost", "answer lost", "request repeated", "request repeated late",
    "slow request", "no way to the tracker", "host cut off", "host vanished", "machine asleep",
    "clock jumped", "disk full", "killed: loop", "killed: session", "killed: agent", "killed: all",
    "killed: stop", "killed: park", "died: ask", "died: did", "died: spawn", "died: write",
    "died: wrote", "limit reached", "agent: limit", "agent: login", "agent: provider",
    "agent: done", "agent: half", "agent: question", "agent: lies", "agent: silent",
    "agent: out of steps", "agent: hangs", "agent: crashes", "agent: pass", "agent: fail",
    "lease expired", "posted: report", "posted: report half done", "posted: verdict fail",
    "posted: verdict none", "posted: run no report", "posted: run given back",
    "a person: says", "a person: pending", "a person: open", "a person: done",
    "outcome: posted", "outcome: sent back", "outcome: half done", "outcome: question",
    "outcome: no valid report", "outcome: given back", "outcome: moved by a person",
)  # fmt: skip
"""What has to happen in some run of a hundred, or nothing would show that it is survived."""


@dataclass(frozen=True)
class Result:
    seed: int
    counts: Counter[str]
    digest: str
    steps: int
    late_s: float
    worked_s: float
    """Seconds of agents whose result came late, and of all; 0 for a run in which whole machines
    were away: there a lease has to be lost."""
    story: tuple[str, ...]


@dataclass(frozen=True)
class Mix:
    """Which faults this seed has: some none, some only one kind."""

    weather: Weather
    crash: float
    """Chance of a death at each effect."""
    kills_h: float
    """Hours between two kills from outside; 0: none."""
    outages: bool
    pauses: bool
    disks: bool
    jumps: bool
    provider: bool
    vanishes: bool
    cuts: bool
    """A host cannot reach the tracker, and works on."""


def mix_of(world: World) -> Mix:
    dice = world.dice

    def some(low: float, high: float, chance: float = 0.5) -> float:
        return dice.uniform(low, high) if dice.random() < chance else 0.0

    def flag(chance: float = 0.4) -> bool:
        return dice.random() < chance

    weather = Weather(
        slow=some(0, 0.05), lost_before=some(0, 0.05), lost_after=some(0, 0.08),
        repeated=some(0, 0.1), repeated_late=some(0, 0.1), busy=some(0, 0.05),
        between=some(0, 0.04),
    )  # fmt: skip
    return Mix(
        weather, crash=some(0, 0.01), kills_h=some(0.5, 6), outages=flag(), pauses=flag(),
        disks=flag(), jumps=flag(), provider=flag(), vanishes=flag(0.3), cuts=flag(0.5),
    )  # fmt: skip


class Run:
    """Everything of one run."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.world = world = World(seed)
        dice = world.dice
        self.mix = mix_of(world)
        self.healed = False
        service = open_service(
            "sqlite:///:memory:", clock=self._tracker_ms, derive=DERIVE, create=True
        )
        self.tracker_ahead_ms = 0
        anna = Embedded(service, Me("anna", "", machine=False, owner=True))
        anna.me()
        for name in PROJECTS:
            anna.add_project(name, key=f"project:{name}")
        colony = Embedded(service, Me("colony", "", machine=True, owner=False))
        self.colony = colony
        account = Account(world, room=dice.choice((40, 80, 10_000)), tells=dice.random() < 0.3)
        self.account = account
        weights = {"done": 5, "half": 1, "question": 0.5, "lies": 0.7, "silent": 0.4,
                   "out of steps": 0.4, "hangs": 0.2, "crashes": 0.3}  # fmt: skip
        temper = Temper(
            {word: weight * dice.uniform(0.3, 1.5) for word, weight in weights.items()},
            check_fails=dice.uniform(0, 0.2), no_verdict=dice.uniform(0, 0.35),
            minutes=dice.uniform(5, 40),
        )  # fmt: skip
        self.agents = Agents(world, account, temper)
        self.network = Network(world, colony, self.mix.weather)
        self.oracle = Oracle(world, colony, self.agents)
        self.network.news = dice.random() < 0.2
        account.turned_away, account.answered = self.oracle.turned_away, self.oracle.answered
        self.network.oracle, self.network.effect = self.oracle, self._effect
        manner = Manner(
            tickets=dice.randint(4, 10), rejects=dice.uniform(0, 0.4),
            meddles=dice.choice((0.0, 0.0, 0.05, 0.15)), patience_s=dice.uniform(600, 7200),
        )  # fmt: skip
        self.people = People(world, anna, PROJECTS, manner)
        self.network.meanwhile = self.people.between
        self.stage = Stage(world, self.network, self.agents, self.oracle, self._effect)
        self._homes(folder)

    def _homes(self, folder: Path) -> None:
        """Two or three schedulers; two of them may share a host, as in a deploy that overlaps."""
        dice = self.world.dice
        hosts = [Host(self.world, "oak"), Host(self.world, "elm")]
        count = dice.choice((1, 2, 2, 3))
        self.hosts = hosts[: 1 if count == 1 else 2]
        ttl_s = dice.choice((600, 600, 1800, 7200))
        for at in range(count):
            options = Options(dice.choice((300, 600, 900)), dice.choice((1, 2)), ttl_s, {})
            self.stage.homes.append(
                Home(
                    self.stage,
                    self.hosts[at % len(self.hosts)],
                    folder / f"home{at}",
                    PROJECTS,
                    options,
                )
            )

    # --- faults ------------------------------------------------------------------------------

    def _tracker_ms(self) -> int:
        return BASE_MS + round(self.world.now_s * 1000) + self.tracker_ahead_ms

    def _effect(self, process: Process, name: str) -> None:
        """An effect of a process: it may die here."""
        process.check()
        if not self.healed and self.world.roll(self.mix.crash):
            self.world.count(f"died: {name.split(maxsplit=1)[0]}")
            self.world.tell(f"{process.name} dies: {name}")
            process.die_here()

    def _plan_faults(self) -> None:
        world, dice, mix = self.world, self.world.dice, self.mix

        def often(kind: bool, most: int, act: object) -> None:
            for _ in range(dice.randint(1, most) if kind else 0):
                world.at(dice.uniform(600, HEAL_S), act)  # type: ignore[arg-type]

        if mix.kills_h:
            at_s = 0.0
            while (at_s := at_s + dice.expovariate(1 / (mix.kills_h * 3600))) < HEAL_S:
                world.at(at_s, self._kills)
        often(mix.outages, 4, self._outage)
        often(mix.pauses, 4, self._pause)
        often(mix.disks, 3, self._full_disk)
        often(mix.jumps, 2, self._jump)
        often(mix.provider, 4, self._provider)
        often(mix.vanishes, 2, self._vanish)
        often(mix.cuts, 4, self._cut_off)

    def _kills(self) -> None:
        """The operator, the kernel or a bug ends something."""
        home = self.world.dice.choice(self.stage.homes)
        how = self.world.dice.choice(("loop", "session", "agent", "all", "stop", "park"))
        self.world.count(f"killed: {how}")
        self.world.tell(f"{how} is killed in {home.folder.name}")
        mine = [each for each in home.host.sessions.values() if each.alive and each.home is home]
        match how:
            case "loop" if home.loop is not None:
                home.loop.end(-9)
            case "all" if home.loop is not None:
                for each in (home.loop, *mine):
                    each.end(-9)
            case "session" if mine:
                self.world.dice.choice(mine).end(-9)
            case "agent" if self.oracle.live:
                self.world.dice.choice(
                    sorted(self.oracle.live, key=lambda box: box.number)
                ).process.end(-9)
            case "park" if mine:
                self.world.dice.choice(mine).stops.note(SIGTERM)
            case "stop":
                home.stop_loop()
        self._serve(home)

    def _serve(self, home: Home) -> None:
        """The service manager starts a loop again, a little later."""
        self.world.after(self.world.dice.uniform(5, 300), home.start_loop)

    def _outage(self) -> None:
        self.network.away_s = self.world.now_s + self.world.dice.expovariate(1 / 1800)

    def _pause(self) -> None:
        """A machine sleeps: nothing of it runs, its clocks go on."""
        host = self.world.dice.choice(self.hosts)
        until_s = self.world.now_s + self.world.dice.choice((30, 400, 3600, 10_000))
        host.frozen_s = max(host.frozen_s, until_s)
        self.world.count("machine asleep")

    def _full_disk(self) -> None:
        host = self.world.dice.choice(self.hosts)
        host.full_s = self.world.now_s + self.world.dice.uniform(60, 3600)

    def _jump(self) -> None:
        self.world.count("clock jumped")
        by_ms = round(self.world.dice.uniform(-3600, 3600) * 1000)
        if self.world.roll(0.5):
            self.world.dice.choice(self.hosts).ahead_ms += by_ms
        else:
            self.tracker_ahead_ms = max(self.tracker_ahead_ms, self.tracker_ahead_ms + by_ms)

    def _provider(self) -> None:
        self.account.away_s = self.world.now_s + self.world.dice.uniform(30, 2400)
        if self.world.roll(0.3):
            self.account.no_login_s = self.world.now_s + self.world.dice.uniform(300, 3600)

    def _cut_off(self) -> None:
        host = self.world.dice.choice(self.hosts)
        host.cut_off_s = self.world.now_s + self.world.dice.choice((300, 3000, 6000, 15_000))
        self.world.count("host cut off")

    def _vanish(self) -> None:
        """All of a host dies, and is back hours later."""
        host = self.world.dice.choice(self.hosts)
        self.world.count("host vanished")
        self.world.tell(f"{host.name} is gone")
        away_s = self.world.dice.uniform(600, 4 * 3600)
        for process in [each for each in self.world.processes if each.host is host]:
            process.end(-9)
        host.boots += 1
        host.booted_s = self.world.now_s
        for home in self.stage.homes:
            if home.host is host:
                self.world.after(away_s, home.start_loop)

    def _heal(self) -> None:
        self.healed = True
        self.network.weather = CALM
        self.network.away_s = self.account.away_s = self.account.no_login_s = 0.0
        self.people.calm = True
        for host in self.hosts:
            host.full_s = host.cut_off_s = 0.0
        for word in ("half", "question", "lies", "silent", "out of steps", "hangs", "crashes"):
            self.agents.temper.outcomes[word] = 0.0
        self.agents.temper.check_fails = self.agents.temper.no_verdict = 0.0
        self.people.manner.rejects = 0.0
        self.account.room = 10**9
        for home in self.stage.homes:
            self._serve(home)

    # --- the run -----------------------------------------------------------------------------

    def play(self) -> Result:
        world = self.world
        self._plan_faults()
        self.people.begin()
        for home in self.stage.homes:
            world.after(world.dice.uniform(0, 300), home.start_loop)
        world.run(HEAL_S)
        self._heal()
        world.run(END_S, self._all_done)
        self.oracle.written()
        self.oracle.at_rest(self.stage.homes)
        late_s, worked_s = self.oracle.wasted(self.stage.homes)
        if self.mix.pauses or self.mix.cuts or self.mix.vanishes:
            late_s = worked_s = 0.0
        return Result(
            world.seed,
            world.counts,
            world.digest,
            world.steps,
            late_s,
            worked_s,
            tuple(world.story),
        )

    def _all_done(self) -> bool:
        if self.world.steps % 200 or self.oracle.live:
            return False
        if self._sessions() or any(not_ended(home.runs) for home in self.stage.homes):
            return False
        return all(
            row.state in ("done", "canceled") for row in self.colony.tickets(None, None, None)
        )

    def _sessions(self) -> list[Process]:
        return [each for host in self.hosts for each in host.sessions.values() if each.alive]

    def close(self) -> None:
        self.world.close()
        self.colony.close()
        CHILDREN.clear()


def play(seed: int) -> Result:
    """One run, with nothing left of it. `Violation`: an invariant does not hold."""
    with _set_up(seed) as run:
        return run.play()


def story_of(seed: int) -> tuple[list[str], str]:
    """What happened in a run, and how it failed; empty: it did not."""
    with _set_up(seed) as run:
        try:
            run.play()
        except Exception as error:
            return run.world.story, f"{type(error).__name__}: {error}"
        return run.world.story, ""


@contextlib.contextmanager
def _set_up(seed: int) -> Iterator[Run]:
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and shutil.disk_usage(shared).free > 2**26
    folder = Path(tempfile.mkdtemp(prefix="colony-sim-", dir=shared if roomy else None))
    try:
        run = Run(seed, folder)
        with contextlib.closing(run), files_of(run._effect):
            yield run
    finally:
        shutil.rmtree(folder, ignore_errors=True)
