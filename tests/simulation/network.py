"""The way to the tracker, and what befalls it there: delay, loss, repetition, refusal, people.

The tracker behind it is the real one: the service over SQLite in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from colony.errors import Busy, NoAnswer
from colony.tracker.embedded import Embedded
from colony.tracker.protocol import Conflict
from tests.simulation.kernel import Process, World

READS: Final = frozenset(
    {"tickets", "ticket", "changes", "projects", "project", "session", "sessions", "tail", "hosts"}
)
WRITES: Final = frozenset(
    {"create", "comment", "move", "edit", "block", "set_parent", "add_project", "set_member"}
)
NEWS: Final = frozenset({"put_session", "put_tail", "put_host"})
TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class Weather:
    """Chances for each call, drawn anew for each seed."""

    slow: float = 0.0
    lost_before: float = 0.0
    lost_after: float = 0.0
    repeated: float = 0.0
    repeated_late: float = 0.0
    busy: float = 0.0
    between: float = 0.0
    """A person acts between a read and the write that follows from it."""


CALM: Final = Weather()


class Network:
    """One tracker for everybody, and the weather between it and them."""

    def __init__(self, world: World, colony: Embedded, weather: Weather) -> None:
        self.world, self.colony, self.weather = world, colony, weather
        self.away_s = 0.0
        """Until then the tracker answers nobody."""
        self.news = True
        """Sessions tell what they do while they do it."""
        self.meanwhile: Callable[[str, tuple[Any, ...]], object] = lambda name, args: None
        self.effect: Callable[[Process, str], object] = lambda process, name: None
        self.oracle: Any = None

    def edge(self, process: Process) -> Edge:
        return Edge(self, process)


class Edge:
    """A `Tracker` by its behaviour, as one process reaches it."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network, self._process = network, process
        self.features = network.colony.features
        if not network.news:
            self.features -= {"sessions"}

    def now_ms(self) -> int:
        self._process.check()
        return self._network.colony.now_ms()

    def me(self) -> Any:
        return self._network.colony.me()

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name in READS or name in WRITES or name in NEWS:
            return lambda *args, **more: self._call(name, args, more)
        raise AttributeError(name)

    def _call(self, name: str, args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        net, world, process = self._network, self._network.world, self._process
        weather = net.weather
        writes = name in WRITES
        if name in NEWS and not net.news:
            return None
        if writes:
            net.effect(process, f"ask {name}")
        world.sleep(self._delay_s())
        if world.now_s < max(net.away_s, process.host.cut_off_s):
            world.count("no way to the tracker")
            self._no_answer()
        if world.roll(weather.busy):
            world.count("tracker busy")
            raise Busy("the tracker is busy")
        if world.roll(weather.lost_before):
            world.count("request lost")
            self._no_answer()
        if writes and world.roll(weather.between):
            net.meanwhile(name, args)
        answer = self._done(name, args, more)
        if writes and world.roll(weather.lost_after):
            world.count("answer lost")
            self._no_answer()
        world.sleep(self._delay_s())
        if writes:
            net.effect(process, f"did {name}")
        return answer

    def _done(self, name: str, args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        net, world = self._network, self._network.world

        def do() -> Any:
            return getattr(net.colony, name)(*args, **more)

        answer = do()
        if name not in WRITES:
            return answer
        if world.roll(net.weather.repeated):
            world.count("request repeated")
            self._again(do, answer)
        elif world.roll(net.weather.repeated_late) and not isinstance(answer, Conflict):
            world.after(world.dice.uniform(0.1, 500), lambda: self._late(do, answer))
        net.oracle.written()
        return answer

    def _again(self, do: Callable[[], Any], answer: Any) -> None:
        before = self._network.colony.changes(10**15 - 1, 1).last
        again = do()
        after = self._network.colony.changes(10**15 - 1, 1).last
        self._network.oracle.repeated(answer, again, before, after)

    def _late(self, do: Callable[[], Any], answer: Any) -> None:
        self._network.world.count("request repeated late")
        self._again(do, answer)

    def _delay_s(self) -> float:
        dice, weather = self._network.world.dice, self._network.weather
        if self._network.world.roll(weather.slow):
            self._network.world.count("slow request")
            return dice.uniform(1, 120)
        return dice.uniform(0.005, 0.2)

    def _no_answer(self) -> None:
        self._network.world.sleep(TIMEOUT_S)
        raise NoAnswer("the tracker did not answer")
