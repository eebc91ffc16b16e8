"""Virtual time: many tasks in one thread, one at a time, in an order that a seed decides alone.

A task is a greenlet: ordinary code of the product runs in it, and goes on elsewhere whenever it
waits at an edge. A process is a group of tasks that dies whole. What is dead has no effects: each
edge asks `Process.check` first, also while the dying code unwinds.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import IO, Any

from greenlet import getcurrent, greenlet

DAY_S = 86_400.0
STEPS_MAX = 60_000
"""A run has some ten thousand: one with so many turns in a circle."""


class Killed(BaseException):
    """This process is dead from here on. Nothing of the program catches it."""


class Violation(AssertionError):
    """An invariant does not hold; the text names it."""


class Condition:
    """What tasks wait for beside the time."""

    def __init__(self) -> None:
        self.waiting: dict[Task, None] = {}

    def notify(self) -> None:
        for task in tuple(self.waiting):
            task.world.wake(task)


class Task:
    """One flow of control of a process."""

    def __init__(self, process: Process, work: Callable[[], object], name: str) -> None:
        self.process, self.name = process, name
        self.world = process.world
        self.done = False
        self.ended = Condition()
        self.token = 0
        self._work = work
        self.flow = greenlet(self._main, self.world.hub)
        self.flow.task = self

    def _main(self) -> None:
        try:
            self._work()
        except Killed:
            pass
        finally:
            self.done = True
            self.process.tasks.pop(self, None)
            self.ended.notify()


class Process:
    """Tasks that share a fate. `frozen_s`: until then none of them runs (a machine asleep)."""

    def __init__(self, world: World, name: str, host: Any) -> None:
        self.world, self.name, self.host = world, name, host
        self.tasks: dict[Task, None] = {}
        self.alive = True
        self.ended = Condition()
        self.children: list[Process] = []
        """Die with this one."""
        self.files: list[IO[str]] = []
        """Closed when it has ended."""
        self.status: int | None = None
        """How it ended: an exit code, negative for a signal."""
        world.processes[self] = None

    def begin(self, work: Callable[[], object], name: str = "main") -> Task:
        self.check()
        task = Task(self, work, name)
        self.tasks[task] = None
        self.world.schedule(self.world.now_s, task)
        return task

    def check(self) -> None:
        if not self.alive:
            raise Killed

    def end(self, status: int) -> None:
        """It is over: by itself, or killed (a negative number). Never returns to its own tasks."""
        if not self.alive:
            return
        self.alive, self.status = False, status
        self.world.dying.append(self)
        for child in self.children:
            child.end(-9)
        self.world.processes.pop(self, None)
        self.ended.notify()

    def die_here(self) -> None:
        """The current task's own process dies at this very point."""
        self.end(-9)
        raise Killed


class World:
    """The clock, the heap and the dice of one run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.dice = random.Random(seed)
        self.now_s = 0.0
        self.hub = getcurrent()
        self.processes: dict[Process, None] = {}
        self.dying: list[Process] = []
        self.counts: Counter[str] = Counter()
        self.story: list[str] = []
        self.steps = 0
        self._digest = blake2b(digest_size=8)
        self._heap: list[tuple[float, int, Any, int]] = []
        self._sequence = 0

    # --- what happens ------------------------------------------------------------------------

    def tell(self, text: str) -> None:
        """One line of the run's story; two runs of one seed tell the same."""
        line = f"{self.now_s:10.1f} {text}"
        self._digest.update(line.encode())
        self.story.append(line)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def roll(self, chance: float) -> bool:
        return chance > 0 and self.dice.random() < chance

    # --- time --------------------------------------------------------------------------------

    def at(self, when_s: float, act: Callable[[], object]) -> None:
        """Call it then, outside of every process. It must not wait."""
        self._push(max(when_s, self.now_s), act, 0)

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        self.at(self.now_s + seconds, act)

    def schedule(self, when_s: float, task: Task) -> None:
        task.token += 1
        self._push(when_s, task, task.token)

    def wake(self, task: Task) -> None:
        if not task.done:
            self.schedule(self.now_s, task)

    def sleep(self, seconds: float, *conditions: Condition) -> None:
        """The current task waits: so long, or until one of the conditions is notified."""
        task: Task = getcurrent().task
        task.process.check()
        for each in conditions:
            each.waiting[task] = None
        try:
            self.schedule(self.now_s + max(0.001, seconds), task)
            self.hub.switch()
        finally:
            for each in conditions:
                each.waiting.pop(task, None)
        task.process.check()

    def run(self, until_s: float, over: Callable[[], bool] = lambda: False) -> None:
        """Until then, or until `over()`, asked after every step."""
        while self._heap and self._heap[0][0] <= until_s and not over():
            when_s, _, what, token = heapq.heappop(self._heap)
            self.now_s = max(self.now_s, when_s)
            self._do(what, token)
            self._bury()
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise Violation(f"L0: it does not come to an end (seed {self.seed})")
        if not over():
            self.now_s = max(self.now_s, until_s)

    def close(self) -> None:
        """End everything: nothing of a run outlives it."""
        for process in tuple(self.processes):
            process.end(-9)
        self._bury()
        self._heap.clear()

    def _do(self, what: Any, token: int) -> None:
        if not isinstance(what, Task):
            what()
        elif what.token == token and not what.done and what.process.alive:
            thaw_s = what.process.host.frozen_s if what.process.host is not None else 0.0
            if thaw_s > self.now_s:
                self.schedule(thaw_s, what)
            else:
                what.flow.switch()

    def _bury(self) -> None:
        """Unwind what belongs to dead processes: its locks and files are let go of."""
        while self.dying:
            process = self.dying.pop()
            for task in tuple(process.tasks):
                if task.flow:
                    task.flow.throw(Killed)
                process.tasks.pop(task, None)
                task.done = True
            for file in process.files:
                file.close()

    def _push(self, when_s: float, what: Any, token: int) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (when_s, self._sequence, what, token))


def current() -> Process | None:
    """The process whose task runs now; None: nobody's."""
    task = getattr(getcurrent(), "task", None)
    return task.process if task is not None else None


def first(found: Iterable[Any]) -> Any:
    return next(iter(found), None)
