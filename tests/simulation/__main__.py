"""`colony simulate`: many seeds on all processors, or one of them again with its story."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter

from tests.simulation.kernel import Violation
from tests.simulation.run import NEEDED, Result, play, story_of

SHOWN = 40
"""Lines of a failed run's story."""


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
    begun = time.monotonic()
    failed, counts = [], Counter[str]()
    late_s = worked_s = steps = 0.0
    with multiprocessing.Pool(jobs) as pool:
        for result in pool.imap_unordered(_played, range(first, first + count), chunksize=4):
            if isinstance(result, str):
                failed.append(result)
                print(result, flush=True)
                continue
            counts += result.counts
            late_s, worked_s = late_s + result.late_s, worked_s + result.worked_s
            steps += result.steps
    took_s = time.monotonic() - begun
    for what, times in sorted(counts.items()):
        print(f"{times:10,}  {what}")
    share = late_s / worked_s if worked_s else 0.0
    print(
        f"{count:,} simulated days in {took_s:,.0f} s"
        f" ({count / took_s:.2f} a second, {jobs} at once)"
    )
    print(
        f"{steps:,.0f} steps; where no machine was away {share:.1%} of {worked_s / 3600:,.0f} hours"
        " of agents were for results that came late"
    )
    missing = [what for what in NEEDED if not counts[what]] if count >= 100 else []
    for what in missing:
        print(f"it never happened: {what}")
    print(f"{len(failed)} of {count:,} seeds failed")
    return 1 if failed or missing else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="colony simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="how many days (default: 300)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    parser.add_argument("--replay", type=int, metavar="SEED", help="one seed, with its story")
    asked = parser.parse_args()
    if asked.seeds < 1 or asked.jobs < 1:
        parser.error("--seeds and --jobs must be 1 or more")
    if asked.replay is not None:
        return _replayed(asked.replay)
    return _many(asked.first, asked.seeds, asked.jobs)


if __name__ == "__main__":
    sys.exit(main())
