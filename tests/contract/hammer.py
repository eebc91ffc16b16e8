"""A process that writes without patience: `hammer.py URL NAME COUNT`.

It says `busy` when it is refused for the first time, and repeats whatever was refused with the
same key until it is through. It prints how often that was.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from edges import DERIVE

from colony.core.records import SessionRecord
from colony.core.ticket import Me, NewTicket, Ref
from colony.errors import Busy
from colony.tracker.embedded import open_tracker
from colony.tracker.protocol import Tracker

REF = Ref("shop", 1)
TIMEOUT_S = 0.05
PAUSE_S = 0.002


def calls(tracker: Tracker, name: str, at: int) -> list[Callable[[], object]]:
    """One round, each a write that must happen once."""
    text = f"{name} {at}"
    source = f"mail:{at}"
    return [
        lambda: tracker.comment(REF, text, key=f"c{at}"),
        lambda: tracker.create(NewTicket("shop", text), key=f"t{at}"),
        lambda: tracker.create(NewTicket("barn", text, source=source), key=f"s{at}"),
        lambda: tracker.edit(REF, subject=text, key=f"e{at}"),
        lambda: tracker.put_session(SessionRecord(name, REF, "h", "new", step=str(at))),
    ]


def patient(call: Callable[[], object], said: list[str]) -> None:
    while True:
        try:
            call()
        except Busy:
            if not said:
                print("busy", flush=True)
            said.append("busy")
            time.sleep(PAUSE_S)
        else:
            return


def main(url: str, name: str, count: str) -> None:
    me = Me(name, "", machine=True, owner=False)
    tracker = open_tracker(
        url, me=me, clock=lambda: time.time_ns() // 10**6, derive=DERIVE, timeout_s=TIMEOUT_S
    )
    said: list[str] = []
    print("ready", flush=True)
    sys.stdin.readline()
    patient(tracker.me, said)
    for at in range(int(count)):
        for call in calls(tracker, name, at):
            patient(call, said)
    tracker.close()
    print(len(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
