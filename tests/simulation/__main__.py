"""`colony simulate`: many seeds on all processors, or one of them again with its story."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.kernel import Violation
from tests.simulation.run import NEEDED, Result, play, story_of

SHOWN = 40
"""Lines of a failed run's story."""


ENOUGH = 100
"""Days after which everything must have happened."""


@dataclass
class Total:
    counts: Counter[str]
    played: int = 0
    failed: int = 0
    late_s: float = 0.0
    worked_s: float = 0.0
    steps: int = 0

    def add(self, result: Result | str) -> None:
        self.played += 1
        if isinstance(result, str):
            self.failed += 1
            print(result, flush=True)
            return
        self.counts += result.counts
        self.late_s, self.worked_s = self.late_s + result.late_s, self.worked_s + result.worked_s
        self.steps += result.steps


def _played(seed: int) -> Result | str:
    try:
        return play(seed)
    except Violation as violation:
        return str(violation)
    except Exception as error:
        return f"{type(error).__name__}: {error} (seed {seed})"


def _replayed(seed: int) -> int:
    story, end = story_of(seed)
    print("\n".join(story[-SHOWN:] if end else story))
    print(end or f"seed {seed} holds")
    return 1 if end else 0


def _many(first: int, count: int, jobs: int) -> int:
    begun, total = time.monotonic(), Total(Counter())
    stopped = False
    with multiprocessing.Pool(jobs, _leave_interrupts_alone) as pool:
        try:
            for result in pool.imap_unordered(_played, range(first, first + count)):
                total.add(result)
                _show_progress(total, count)
        except KeyboardInterrupt:
            stopped = True
    took_s = time.monotonic() - begun
    for what, times in sorted(total.counts.items()):
        print(f"{times:10,}  {what}")
    share = total.late_s / total.worked_s if total.worked_s else 0.0
    of = f" of {count:,}" if stopped else ""
    print(
        f"{total.played:,}{of} simulated days in {took_s:,.0f} s"
        f" ({total.played / took_s:.2f} a second, {jobs} at once)"
    )
    print(
        f"{total.steps:,.0f} steps; where no machine was away {share:.1%} of"
        f" {total.worked_s / 3600:,.0f} hours of agents were for results that came late"
    )
    enough = total.played >= ENOUGH
    missing = [what for what in NEEDED if not total.counts[what]] if enough else []
    for what in missing:
        print(f"it never happened: {what}")
    print(f"{total.failed} of {total.played:,} seeds failed")
    if stopped:
        return 128 + signal.SIGINT
    return 1 if total.failed or missing else 0


def _leave_interrupts_alone() -> None:
    """Ctrl-C reaches every process of a terminal; the first one of these ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _show_progress(total: Total, count: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{total.played:,} of {count:,}\x1b[K\r", end="", file=sys.stderr, flush=True)


def _number(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{text}: must be {least} or more")
        return number

    read.__name__ = "number"
    return read


def main() -> int:
    # A reader that has seen enough (`| head`) is no error.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    parser = argparse.ArgumentParser(prog="colony simulate", description=__doc__)
    add = parser.add_argument
    add("--seeds", type=_number(1), help="how many days (default: 300)")
    add("--from", type=_number(0), dest="first", metavar="SEED", help="the first seed (default: 0)")
    add("--jobs", type=_number(1), help="runs at once (default: one for each processor)")
    add("--replay", type=_number(0), metavar="SEED", help="one seed again, with its story")
    asked = parser.parse_args()
    many = asked.seeds, asked.first, asked.jobs
    if asked.replay is None:
        return _many(asked.first or 0, asked.seeds or 300, asked.jobs or os.cpu_count() or 1)
    if any(each is not None for each in many):
        parser.error("--replay plays one seed: --seeds, --from and --jobs say nothing there")
    try:
        return _replayed(asked.replay)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
