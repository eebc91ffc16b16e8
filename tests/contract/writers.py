"""A process that writes to a tracker: `writers.py URL NAME (race EVENT | comments COUNT)`.

It waits for a line on standard input, so that several begin together, and prints what happened.
"""

from __future__ import annotations

import sys
import time

from edges import DERIVE

from colony.core.ticket import Me, Ref
from colony.tracker.embedded import open_tracker
from colony.tracker.protocol import Guard

REF = Ref("shop", 1)


def main(url: str, name: str, what: str, number: str) -> None:
    me = Me(name, "", machine=True, owner=False)
    tracker = open_tracker(url, me=me, clock=lambda: time.time_ns() // 10**6, derive=DERIVE)
    tracker.me()
    print("ready", flush=True)
    sys.stdin.readline()
    if what == "race":
        guard = Guard(event=int(number))
        answer = tracker.move(REF, "progress", text=name, key="take", guard=guard)
        print(type(answer).__name__)
    else:
        for at in range(int(number)):
            tracker.comment(REF, f"{name} {at}", key=f"c{at}")
    tracker.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
