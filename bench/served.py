"""The tracker's server in a process of its own, beside an empty endpoint of the same stack.

python -m bench.served HOME     serves both until its input ends; prints two ports and a token
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Addresses:
    """`tracker`: HOME's tracker; `token` is a machine's. `empty`: a bare FastAPI app."""

    tracker: str
    empty: str
    token: str


@contextmanager
def served(home: Path) -> Iterator[Addresses]:
    import subprocess

    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "bench.served", str(home)]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        tracker, empty, token = process.stdout.readline().split()
        try:
            yield Addresses(f"http://127.0.0.1:{tracker}", f"http://127.0.0.1:{empty}", token)
        finally:
            # Its standard input ends: so does it.
            process.communicate()


async def _serve(home: Path) -> None:
    from fastapi import FastAPI

    from colony.config import ServeSettings
    from colony.core.ticket import Me
    from colony.flow.wiring.trackers import DERIVE
    from colony.serve.app import make_app
    from colony.serve.desk import World, set_up
    from colony.serve.running import address_of, answering, listen
    from colony.tracker.places import engine_at
    from colony.tracker.service import Service
    from colony.tracker.tokens import Tokens

    def now_ms() -> int:
        return time.time_ns() // 10**6

    engine = engine_at(f"sqlite:///{home / 'colony.db'}", create=False, timeout_s=5)
    service = Service(engine, now_ms, DERIVE)
    tokens = Tokens(engine, now_ms)
    secret = f"tkt_{secrets.token_urlsafe(32)}"
    tokens.make(service.sign_in(Me("colony", "", machine=True, owner=False)), secret, None)
    settings = ServeSettings(("127.0.0.1", 0), "", False, 0)
    keys = iter(range(10**9))
    world = World(time.monotonic, lambda: f"made-{next(keys)}", _raise)
    desk = set_up(service, tokens, settings, world)
    bare = FastAPI()

    @bare.get("/empty")
    @bare.post("/empty")
    async def empty() -> dict[str, bool]:
        return {"ok": True}

    listeners = [listen(address_of("127.0.0.1", 0)) for _ in range(2)]
    # The bell rings for the tracker only; a server of this stack wants one to close.
    async with (
        answering(make_app(desk), desk.bell, listeners[0]),
        answering(bare, desk.bell, listeners[1]),
    ):
        print(*(each.getsockname()[1] for each in listeners), secret, flush=True)
        await asyncio.to_thread(sys.stdin.read)
    service.close()


def _raise(error: Exception) -> None:
    raise error


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
