"""Colony's own programs on a simulated machine: the loop of a home, and the sessions it starts.

All of it is the product's code, from `flow.run.Loop` and `flow.starting.work_on` down; only the
edges are simulated.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM
from typing import IO, Any, Final

from colony import config
from colony.cli.machine import this_machine
from colony.coding.claude import Claude
from colony.core.lines import Line
from colony.core.ports import parse_range
from colony.core.ticket import Ref
from colony.errors import ColonyError
from colony.flow.machine import Machine
from colony.flow.observe import Viewpoint
from colony.flow.room import Admission
from colony.flow.run import Loop, LoopBench
from colony.flow.starting import Order, work_on
from colony.flow.supervise import Command, Supervisor
from colony.flow.wiring.loop import loop_settings
from colony.flow.wiring.sessions import Forms, Outfit, forms_of
from colony.host.box import Namespaces
from colony.host.control import Control
from colony.host.notify import Notifier
from colony.host.registry import read_registry
from tests.fakes.gauges import PLENTY
from tests.simulation.account import Agents
from tests.simulation.kernel import Process, World
from tests.simulation.machines import Boxes, Chance, Children, Clock, Host, Stops, Threads
from tests.simulation.network import Network
from tests.simulation.oracle import CANARY

ENVIRON: Final = {
    "PATH": "/usr/bin:/bin", "HOME": "/nowhere", "ANTHROPIC_API_KEY": "sk-ant-simulated",
    "SECRET_OF_THE_OPERATOR": CANARY, "COLONY_TOKEN_FILE": "",
}  # fmt: skip
OLD_S: Final = 1_700_000_000
"""When the files of a dev folder were made."""


@dataclass(frozen=True)
class Options:
    """What the operator set, drawn for each seed."""

    interval_s: int
    parallel: int
    ttl_s: int
    more: Mapping[str, str]


class Home:
    """One home of Colony on a host: its folder, its settings, its loop."""

    def __init__(
        self, stage: Stage, host: Host, folder: Path, projects: Sequence[str], options: Options
    ) -> None:
        self.stage, self.host, self.folder, self.options = stage, host, folder, options
        self.world: World = stage.world
        self.loop: Process | None = None
        self.wanted = True
        """The service manager keeps a loop running here."""
        self.lines: list[Line] = []
        environ = ENVIRON | {
            "COLONY_HOME": str(folder), "COLONY_HOST": host.name, "COLONY_INTAKE": "all",
            "COLONY_CREATOR_NAMES": "anna", "COLONY_RUN_INTERVAL": str(options.interval_s),
            "COLONY_PARALLEL": str(options.parallel), "COLONY_LEASE_TTL": str(options.ttl_s),
            "COLONY_WORK_TIMEOUT": "7200", "COLONY_SANDBOX": "on", **options.more,
        }  # fmt: skip
        for name in projects:
            self._project(name)
        self.settings = config.read({}, environ, "", this_machine(environ))
        place = self.settings.place
        registry = read_registry(place.projects_dir, place.home, place.host)
        self.view = Viewpoint(
            registry, host.name, "all", frozenset({"anna"}),
            max_starts=self.settings.work.max_starts_per_hour,
        )  # fmt: skip
        self.runs = place.runs_dir
        self.chance = Chance(random.Random(self.world.dice.random()))

    def _project(self, name: str) -> None:
        dev = self.folder / "dev" / name
        dev.mkdir(parents=True)
        concept = dev / "CONCEPT.md"
        concept.write_text("# What it is\n")
        os.utime(concept, (OLD_S, OLD_S))
        entry = {"name": name, "dev": {"folder": str(dev)}, "concept": "CONCEPT.md"}
        (self.folder / "projects").mkdir(exist_ok=True)
        (self.folder / "projects" / f"{name}.json").write_text(json.dumps(entry))

    # --- the loop ----------------------------------------------------------------------------

    def start_loop(self) -> None:
        """As a service manager does: now, where none runs."""
        if self.wanted and (self.loop is None or not self.loop.alive):
            self.loop = Process(self.world, f"run {self.folder.name}", self.host)
            self.loop.stops = Stops(self.loop)
            self.loop.begin(self._run)

    def stop_loop(self) -> None:
        """The loop is asked to stop once: sessions go on and post."""
        if self.loop is not None and self.loop.alive:
            self.loop.stops.note(SIGTERM)

    def _run(self) -> None:
        process = self.loop
        assert process is not None
        bench = LoopBench(
            tracker=self.stage.network.edge(process),
            runs=self.runs,
            clock=Clock(self.host),
            chance=self.chance,
            signals=process.stops,
            control=Control(self.folder),
            notify=Notifier(),
            emit=self._emit,
            read_again=lambda: loop_settings(self.settings, self.view, ENVIRON),
            busy_ranges=lambda _: (),
            admission=Admission(PLENTY, self.runs, self.folder, self._emit),
        )
        supervisor = Supervisor(
            Command(("colony",), {}, self.runs), Children(process, self._session)
        )
        loop = Loop(bench, loop_settings(self.settings, self.view, ENVIRON), supervisor)
        status = 0
        try:
            loop.run(once=False)
        except ColonyError as error:
            self.world.tell(f"{process.name} failed: {error.line}")
            self.world.count("loop failed")
            status = error.exit_code
        self.world.after(60, self.start_loop)
        process.end(status)

    def _emit(self, line: Line) -> None:
        self.world.tell(f"{self.folder.name} {line.as_text()}")
        self.stage.oracle.said(self, line)

    # --- a session ---------------------------------------------------------------------------

    def _session(self, argv: Sequence[str], log: IO[str]) -> Process:
        """`work PROJECT NUMBER [--post] --session S [--ports A-B]`"""
        words = list(argv[argv.index("work") + 1 :])
        ref = Ref(words[0], int(words[1]))
        session = words[words.index("--session") + 1]
        ports = parse_range(words[words.index("--ports") + 1]) if "--ports" in words else None
        process = Process(self.world, f"work {session}", self.host)
        process.stops = Stops(process)
        process.files.append(log)
        process.home, process.begun_ms = self, Clock(self.host).wall_ms()
        self.host.sessions[self.runs / session] = process
        self.stage.agents.tickets[session] = str(ref)
        order = Order(ref, "--post" in words, ports, session)
        process.begin(lambda: self._work(process, order, log))
        return process

    def _work(self, process: Process, order: Order, log: IO[str]) -> None:
        status = 0
        self.stage.effect(process, "work begins")
        try:
            status = work_on(self._outfit(process), order).exit_code
        except ColonyError as error:
            self.world.tell(f"{process.name}: {error.line}")
            log.write(f"work: REFUSED — {error.line}\n")
            log.flush()
            status = error.exit_code
        process.end(status)

    def _outfit(self, process: Process) -> Outfit:
        stage = self.stage
        boxes = Boxes(
            process, process.stops, stage.agents.run, stage.oracle,
            lambda name: stage.effect(process, name),
        )  # fmt: skip
        return Outfit(
            settings=self.settings,
            environ=ENVIRON,
            tracker=stage.network.edge(process),
            view=self.view,
            emit=lambda line: None,
            doing=lambda doing: None,
            signals=process.stops,
            containment=Namespaces(""),
            forms=stage.forms_of(self.settings),
            machine=Machine(Clock(self.host), self.chance, boxes, Threads(process), PLENTY),
            agent_for=lambda runner: Claude(runner.program),
            version_problem=lambda agent: None,
        )


class Stage:
    """What all homes of one run share."""

    forms: Forms | None = None
    """Of the product's own templates: the same for every run."""

    def __init__(
        self, world: World, network: Network, agents: Agents, oracle: Any,
        effect: Callable[[Process, str], None],
    ) -> None:  # fmt: skip
        self.world, self.network, self.agents, self.oracle = world, network, agents, oracle
        self.effect = effect
        self.homes: list[Home] = []

    def forms_of(self, settings: Any) -> Forms:
        if Stage.forms is None:
            Stage.forms = forms_of(settings)
        return Stage.forms
