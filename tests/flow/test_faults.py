"""A session whose tracker lies behind a network that fails in every known way.

Server and client are real and speak over real sockets; between them stands a proxy. The numbers
are those of the list of faults.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from shop import HOST, SHOP, TTL_MS, Shop, a_home, environ_of, shape, worker

from colony.core.session import Outcome
from colony.errors import NotAccepted, NotFound
from colony.flow.hold import Keeper
from colony.flow.take import regain
from colony.flow.work import Kept
from colony.host.journal import list_runs
from colony.tracker.http.client import Patience
from colony.tracker.protocol import Tracker, Written
from tests.fakes.fault_proxy import (
    Delay,
    Drop,
    Fate,
    Fault,
    FaultProxy,
    Lose,
    Say,
    Silent,
    Truncate,
    Twice,
    faulty,
)
from tests.fakes.raw_server import Asked, answer

IMPATIENT = Patience(connect_s=5.0, read_s=0.5)
"""As patient as tests can be; whoever waits for longer lets the clock go on by hand."""

HASTY = Patience(connect_s=5.0, read_s=0.12)


@dataclass
class Wire:
    """The shop, and Colony's way to its tracker through the proxy."""

    shop: Shop
    proxy: FaultProxy
    secret: str
    colony: Tracker = field(init=False)

    def __post_init__(self) -> None:
        self.colony = self.shop.reached(self.proxy.url, self.secret, IMPATIENT)

    def session(self) -> Outcome | None:
        """A whole session over this wire; its outcome."""
        return self.shop.go_by(self.shop.new().session, self.colony).facts.outcome


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    shop = Shop(tmp_path / "shop", edge="http")
    with faulty(shop.server) as proxy:
        yield Wire(shop, proxy, shop.store.token("colony", machine=True))
        shop.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str, str]]:
    shop = Shop(tmp_path_factory.mktemp("undisturbed") / "shop")
    shop.work()
    found = happened(shop)
    shop.close()
    return found


def happened(shop: Shop) -> list[tuple[str, str, str, str]]:
    return shape(tuple(each.event for each in shop.anna.changes(0, 10_000).events))


def once(fault: Fault, wanted: Callable[[Asked], bool] = lambda _: True) -> Fate:
    """The first time each request is sent; a repetition of it passes."""
    met: set[tuple[str, str, bytes]] = set()

    def fate(asked: Asked) -> Fault | None:
        which = (asked.method, asked.target, asked.headers.get("idempotency-key", "").encode())
        if not wanted(asked) or which in met:
            return None
        met.add(which)
        return fault

    return fate


def writes(asked: Asked) -> bool:
    """To the ticket: what a session tells of itself is neither repeated nor waited for."""
    return asked.method not in ("GET", "PUT")


def error(status: int) -> bytes:
    return answer(status, {"error": "not now", "code": "x"})


PAGE = answer(200, body=b"<html>Please log in to the hotel</html>", kind="text/html")
FAULTS: dict[str, Fault] = {
    "F37 500 before": Say(error(500)),
    "F37 502 before": Say(answer(502, body=b"<html>", kind="text/html")),
    "F37 503 before": Say(error(503)),
    "F37 dropped": Drop(),
    "F38 500 after": Say(error(500), done=True),
    "F38 answer lost": Lose(),
    "F38 no answer in time": Silent(done=True),
    "F39 sent twice": Twice(),
    "F40 cut in its head": Truncate(40),
    "F40 cut in its body": Truncate(400),
    "F40 a page instead": Say(PAGE, done=True),
    "F42 too many": Say(answer(429, {"error": "slower"}, retry_after="2")),
    "F49 half-open": Silent(),
    "slow": Delay(0.01),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_each_write_meets_it_once_and_the_session_posts_once(
    wire: Wire, fault: Fault, undisturbed: list[tuple[str, str, str, str]]
) -> None:
    wire.proxy.fate = once(fault, writes)
    if isinstance(fault, Silent):
        # Each silence is waited out: in all more than anything else here.
        wire.colony = wire.shop.reached(wire.proxy.url, wire.secret, HASTY)
    assert wire.session() == Outcome.POSTED
    assert happened(wire.shop) == undisturbed
    assert any(map(writes, wire.proxy.asked))


def test_every_answer_is_lost_once_also_of_reads(
    wire: Wire, undisturbed: list[tuple[str, str, str, str]]
) -> None:
    """F38."""
    wire.proxy.fate = once(Lose())
    assert wire.session() == Outcome.POSTED
    assert happened(wire.shop) == undisturbed
    keys = [each.headers["idempotency-key"] for each in wire.proxy.passed if writes(each)]
    assert sorted(keys) == sorted(2 * list(set(keys))), "each came twice, and was done once"


def test_cut_at_each_byte_an_answer_is_never_taken_for_done_and_never_written_twice(
    wire: Wire,
) -> None:
    """F40."""
    whole, cuts = 0, [*range(_length(wire)), *range(-20, 0)]
    for at in cuts:
        wire.proxy.fate = once(Truncate(at), writes)
        before = len(wire.proxy.asked)
        written = wire.colony.comment(SHOP, f"cut {at}", key=f"cut:{at}")
        assert isinstance(written, Written)
        whole += len(wire.proxy.asked) == before + 1
    said = [each.text for each in wire.shop.history().events if each.text.startswith("cut ")]
    assert said == [f"cut {at}" for at in cuts]
    assert whole == 0, "half an answer counted as one"


def _length(wire: Wire) -> int:
    """Bytes of the shortest answer to a comment like those, less the last few."""
    lengths = []
    forward = wire.proxy._forward

    def measured(asked: Asked) -> bytes:
        said = forward(asked)
        lengths.append(len(said))
        return said

    wire.proxy._forward = measured  # type: ignore[method-assign]
    wire.colony.comment(SHOP, "how long", key="how long")
    wire.proxy._forward = forward  # type: ignore[method-assign]
    return lengths[0] - 20


def test_too_many_requests_are_slowed_down_as_asked(wire: Wire) -> None:
    """F42."""
    wire.proxy.fate = once(Say(answer(429, {"error": "slower"}, retry_after="7")), writes)
    before_s = wire.shop.time.boot_s()
    assert isinstance(wire.colony.comment(SHOP, "x", key="k"), Written)
    assert wire.shop.time.boot_s() - before_s >= 7


@pytest.mark.parametrize("status", [404, 410])
def test_a_ticket_that_a_person_deleted_ends_the_session_and_keeps_its_report(
    wire: Wire, status: int
) -> None:
    """F43."""
    gone = answer(status, {"error": "there is no ticket shop#1", "code": "not_found"})
    session = wire.shop.new().session

    def fate(asked: Asked) -> Fault | None:
        worked = wire.shop.facts(session).report is not None
        return Say(gone) if worked and "/shop/1" in asked.target else None

    wire.proxy.fate = fate
    ended = wire.shop.go_by(session, wire.colony)
    assert ended.facts.outcome == Outcome.GONE
    assert (wire.shop.folder_of(session).path / "report.json").exists()


def test_another_programs_404_is_no_deleted_ticket(wire: Wire) -> None:
    """A proxy whose way to the tracker is gone: the session is kept, and goes on later."""
    page = answer(404, body=b"<html>nginx</html>", kind="text/html")
    session = wire.shop.new().session

    def fate(asked: Asked) -> Fault | None:
        return Say(page) if wire.shop.facts(session).report is not None else None

    wire.proxy.fate = fate
    with pytest.raises(Kept):
        wire.shop.go_by(session, wire.colony)
    wire.proxy.fate = lambda _: None
    assert wire.shop.go_by(session, wire.colony).facts.outcome == Outcome.POSTED


def test_a_revoked_token_keeps_the_session_and_a_new_one_lets_it_go_on(wire: Wire) -> None:
    """F41."""
    session = wire.shop.new().session
    [token] = [each for each in wire.shop.store.tokens.every() if each.machine][-1:]

    def fate(asked: Asked) -> Fault | None:
        if wire.shop.facts(session).report is not None:
            with contextlib.suppress(NotFound):
                wire.shop.store.tokens.revoke(token.id)
        return None

    wire.proxy.fate = fate
    with pytest.raises(Kept) as kept:
        wire.shop.go_by(session, wire.colony)
    assert isinstance(kept.value.__cause__, NotAccepted)
    assert "does not accept the token" in kept.value.line
    assert wire.secret not in kept.value.line
    told = happened(wire.shop)
    again = wire.shop.reached(wire.shop.server, wire.shop.store.token("colony", machine=True))
    assert wire.shop.go_by(session, again).facts.outcome == Outcome.POSTED
    assert happened(wire.shop)[: len(told)] == told


# --- the lease ---------------------------------------------------------------------------------


def test_a_half_open_connection_does_not_stop_the_beat(wire: Wire) -> None:
    """F49: the renewal that got no answer is sent again, and the lease stays."""
    shop, session, hold = _held(wire)
    wire.proxy.fate = once(Silent())
    holder = shop.holder(session, wire.colony)
    renewed = threading.Event()
    keeper = Keeper(holder, hold.lease, hold.trusted_s, TTL_MS // 2, renewed.set)
    keeper.start()
    try:
        shop.time.pass_by(TTL_MS / 2000)
        assert renewed.wait(30)
        assert keeper.lease.renewals == 1
        assert not keeper.over()
    finally:
        keeper.stop()


def test_a_call_that_hangs_does_not_hide_that_the_trust_is_over(wire: Wire) -> None:
    """F49: the owner learns it by the clock alone, while the renewal still waits."""
    shop, session, hold = _held(wire)
    patient = shop.reached(wire.proxy.url, wire.secret, Patience(read_s=3.0))
    hangs = threading.Event()

    def fate(asked: Asked) -> Fault | None:
        hangs.set()
        return Silent()

    wire.proxy.fate = fate
    holder = shop.holder(session, patient)
    keeper = Keeper(holder, hold.lease, hold.trusted_s, TTL_MS // 2, lambda: None)
    keeper.start()
    try:
        shop.time.pass_by(TTL_MS / 2000)
        assert hangs.wait(30)
        assert not keeper.over()
        shop.time.pass_by(holder.trust_s / 2)
        assert keeper.over()
        assert keeper.lost is None
    finally:
        keeper.stop()


def _held(wire: Wire):  # type: ignore[no-untyped-def]
    """A session that holds its lease, and rests."""
    shop = wire.shop
    session = shop.work(post=False).facts.session
    hold = regain(shop.holder(session), shop.facts(session))
    assert not isinstance(hold, str)
    return shop, session, hold


# --- processes of their own --------------------------------------------------------------------


@dataclass
class Working:
    """`colony work shop 1 --post` in a process, over HTTP, with a token's file of its own."""

    shop: Shop
    home: Path
    host: str = HOST

    @property
    def token_file(self) -> Path:
        return self.home / "token"

    def give(self, secret: str) -> None:
        """Swap the file, as a careful person does."""
        fresh = self.home / "token.new"
        fresh.write_text(f"{secret}\n")
        fresh.chmod(0o600)
        fresh.replace(self.token_file)

    @contextlib.contextmanager
    def started(self) -> Iterator[subprocess.Popen[str]]:
        environ = environ_of(self.shop, self.home) | {
            "COLONY_TICKETS_URL": self.shop.server,
            "COLONY_TOKEN_FILE": str(self.token_file),
            "COLONY_HOST": self.host,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "colony", "work", "shop", "1", "--post"],
            env=environ, cwd=self.home, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


@pytest.fixture
def served_shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "shop", edge="http")
    yield made
    made.close()


def until_there(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait for a FIFO's other side to be opened by the worker."""
    assert path.read_text() == "at work\n", process.communicate()


def pausing(shop: Shop) -> tuple[Path, Path]:
    """The worker says that it is at work, and waits for leave to go on: two FIFOs."""
    at_work, go_on = shop.folder / "at-work", shop.folder / "go-on"
    for each in (at_work, go_on):
        os.mkfifo(each)
    shop.play(work=[{"run": f"echo at work > {at_work}; cat {go_on} > /dev/null"}, *worker()])
    return at_work, go_on


def test_of_two_machines_at_one_server_one_starts(served_shop: Shop) -> None:
    """F10, over HTTP: two homes, two names of hosts, a token each."""
    shop = served_shop
    at_work, go_on = pausing(shop)
    machines = [Working(shop, a_home(shop, f"home-{at}"), f"box{at}") for at in (1, 2)]
    for at, machine in enumerate(machines):
        machine.give(shop.store.token(f"colony{at}", machine=True))
    with machines[0].started() as one, machines[1].started() as other:
        until_there(at_work, one)
        pids = {os.pidfd_open(each.pid): each for each in (one, other)}
        [first, *more], _, _ = select.select(pids, [], [], 60)
        assert not more, "one of them works on"
        code, said = ended(pids[first])
        assert (code, "leased by session" in said) == (5, True), said
        [last] = [each for fd, each in pids.items() if fd != first]
        for each in pids:
            os.close(each)
        go_on.write_text("go on\n")
        code, said = ended(last)
        assert code == 0, said
    assert sum(" · started · " in text for text in shop.told()) == 1
    assert sum(len(list_runs(machine.home / "runs")) for machine in machines) == 1
    assert shop.state == "review"


def test_a_token_revoked_in_mid_run_and_swapped_is_not_even_noticed(served_shop: Shop) -> None:
    """F41: the file is read again once the old one is not accepted."""
    shop, machine = served_shop, Working(served_shop, served_shop.folder)
    at_work, go_on = pausing(shop)
    machine.give(shop.store.token("colony", machine=True))
    with machine.started() as process:
        until_there(at_work, process)
        revoke(shop)
        machine.give(shop.store.token("colony", machine=True))
        go_on.write_text("go on\n")
        code, said = ended(process)
    assert code == 0, said
    assert shop.state == "review"


def test_a_token_revoked_in_mid_run_loses_nothing(served_shop: Shop) -> None:
    """F41: told once, with the way to go on, and never with the token itself."""
    shop, machine = served_shop, Working(served_shop, served_shop.folder)
    at_work, go_on = pausing(shop)
    secret = shop.store.token("colony", machine=True)
    machine.give(secret)
    with machine.started() as process:
        until_there(at_work, process)
        revoke(shop)
        go_on.write_text("go on\n")
        code, said = ended(process)
    assert code == 4, said
    assert said.count("does not accept the token of COLONY_TOKEN_FILE") == 1
    assert "colony work shop 1 goes on" in said
    assert secret not in said
    machine.give(shop.store.token("colony", machine=True))
    with machine.started() as process:
        code, said = ended(process)
    assert code == 0, said
    assert shop.state == "review"
    assert len(list_runs(shop.folder / "runs")) == 1


def revoke(shop: Shop) -> None:
    """Every machine's token that is still good, but for the one that the test itself uses."""
    for token in shop.store.tokens.every()[-1:]:
        shop.store.tokens.revoke(token.id)


def test_no_part_of_a_session_sees_a_token_or_where_it_lies(served_shop: Shop) -> None:
    shop, machine = served_shop, Working(served_shop, served_shop.folder)
    shop.play(work=[{"run": "env > env.txt"}, *worker()])
    secret = shop.store.token("colony", machine=True)
    machine.give(secret)
    with machine.started() as process:
        code, said = ended(process)
    assert code == 0, said
    seen = (shop.dev / "env.txt").read_text()
    assert "COLONY_SESSION" in seen
    for word in (secret, "TOKEN_FILE", str(machine.token_file), "COLONY_TICKETS_URL"):
        assert word not in seen
