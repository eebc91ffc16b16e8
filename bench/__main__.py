"""Runs the benchmarks, prints a table and writes `bench/results.json`.

    ./colony.sh bench            all of them
    ./colony.sh bench B1 B4      some

Every figure is the median of several runs and a ratio against something measured in the same run:
single times mean nothing on a shared machine.
"""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.idle import costs_of_iterations
from bench.looping import home_with_work, memory_over
from bench.requests import Connection, Load, a_comment, per_second
from bench.served import Addresses, served
from bench.surveys import survey_of
from bench.tickets import home_with_tickets
from colony.core.pick import pick
from colony.core.plan import PlanSettings, Quota, Room, plan
from colony.core.survey import Survey

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results.json"


@dataclass(frozen=True)
class Figure:
    name: str
    what: str
    value: float
    unit: str
    detail: str = ""


def environment() -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("COLONY_")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**env, "PYTHONPATH": str(ROOT)}


def cpu_s(argv: Sequence[str]) -> float:
    """CPU seconds of a whole process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env=environment(), stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wall_s(argv: Sequence[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(
        argv, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return time.perf_counter() - begun


def in_turn(
    measure: Callable[[Sequence[str]], float], one: Sequence[str], other: Sequence[str], runs: int
) -> tuple[float, float, float]:
    """Medians of both, and of the ratio pair by pair: it holds while the machine's speed drifts."""
    measure(one), measure(other)
    pairs = [(measure(one), measure(other)) for _ in range(runs)]
    ratio = statistics.median(a / b for a, b in pairs)
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratio


def b1() -> list[Figure]:
    """`colony next` on 1,000 tickets, whole process, against `python -c pass`."""
    with tempfile.TemporaryDirectory() as folder:
        home_with_tickets(Path(folder) / "home", 1000)
        command = [sys.executable, "-m", "colony", "--home", f"{folder}/home", "next"]
        bare = [sys.executable, "-c", "pass"]
        figures = []
        for how, measure in (("CPU", cpu_s), ("wall", wall_s)):
            ours, theirs, ratio = in_turn(measure, command, bare, 21)
            detail = f"{ours * 1000:.0f} ms against {theirs * 1000:.0f} ms"
            what = f"colony next, 1,000 tickets, {how}"
            figures.append(Figure("B1", what, ratio, "x python -c pass", detail))
        return [*figures, _b1_over_http(Path(folder), command)]


def _b1_over_http(folder: Path, embedded: Sequence[str]) -> Figure:
    """The same tickets behind a server."""
    with served(folder / "home") as at:
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(at.token)
        names = [f"COLONY_TICKETS_URL={at.tracker}", f"COLONY_TOKEN_FILE={token}"]
        remote = ["env", *names, *embedded]
        said = [
            subprocess.run(each, env=environment(), check=True, capture_output=True).stdout
            for each in (remote, embedded)
        ]
        assert said[0] == said[1], said
        ours, theirs, ratio = in_turn(wall_s, remote, embedded, 9)
    detail = f"{ours * 1000:.0f} ms against {theirs * 1000:.0f} ms"
    return Figure("B1", "colony next over HTTP, wall", ratio, "x the embedded one", detail)


def b2() -> list[Figure]:
    """What is next, and the plan, over 1k, 10k and 100k tickets: growth exponent, and CPU
    for each ticket."""
    settings = PlanSettings(4, (8700, 8799), 10)

    def planned(survey: Survey) -> object:
        return plan(survey, (), Quota(), Room(), settings, survey.now_ms)

    surveys = {count: survey_of(count) for count in (1_000, 10_000, 100_000)}
    return [*_b2("pick", pick, surveys), *_b2("plan", planned, surveys)]


def _b2(
    what: str, work: Callable[[Survey], object], surveys: dict[int, Survey]
) -> Iterator[Figure]:
    seconds = {}
    for count, survey in surveys.items():
        runs = []
        for _ in range(3):
            begun = time.process_time()
            work(survey)
            runs.append(time.process_time() - begun)
        seconds[count] = min(runs)
    exponent = math.log10(seconds[100_000] / seconds[1_000]) / 2
    each = seconds[100_000] / 100_000 * 1e6
    detail = ", ".join(f"{count:,}: {value * 1000:.1f} ms" for count, value in seconds.items())
    yield Figure("B2", f"{what}, growth exponent from 1k to 100k", exponent, "", detail)
    yield Figure("B2", f"{what}, per ticket at 100k", each, "µs")


def b3() -> list[Figure]:
    """An idle iteration of the loop at 10,000 tickets behind a server, and one with one change."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home_with_tickets(home, 10_000)
        with served(home) as at:
            costs = costs_of_iterations(home, at, 15)
    first, idle, news = costs.first, costs.idle, costs.news
    cpu = f"{idle.cpu_s * 1000:.0f} ms against {first.cpu_s * 1000:.0f} ms"
    one = f"{news.bytes:,.0f} bytes of bodies; the first one: {first.requests:,.0f} requests, "
    return [
        Figure("B3", "idle iteration, 10,000 tickets, requests", idle.requests, "x one request"),
        Figure("B3", "idle iteration, 10,000 tickets, bodies", idle.bytes, "bytes"),
        Figure("B3", "idle iteration, 10,000 tickets, CPU",
               idle.cpu_s / first.cpu_s, "x the first iteration", cpu),
        Figure("B3", "iteration after one comment, requests", news.requests, "x one request",
               f"{one}{first.bytes / 1e6:.1f} MB"),
    ]  # fmt: skip


def b4() -> list[Figure]:
    """`colony work` with an agent that does nothing, against two runs of that agent alone."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home_with_tickets(home, 0)
        script = Path(folder) / "nothing.json"
        script.write_text('{"work": [{"exit": 0}]}')
        colony = [sys.executable, "-m", "colony", "--home", str(home)]
        env = environment()
        subprocess.run([*colony, "ticket", "new", "x"], env=env, check=True, capture_output=True)
        options = ["--agent", "stand-in", "--stand-in-script", str(script)]
        work = [*colony, "work", "shop", "1", *options]
        alone = [
            sys.executable, "-I", "-S", "-c", "import sys; sys.exit(0)"
        ]  # fmt: skip
        ours, theirs, ratio = in_turn(wall_s, work, alone, 9)
        detail = f"{ours * 1000:.0f} ms against {theirs * 1000:.0f} ms"
        return [Figure("B4", "colony work, agent that does nothing, wall", ratio, "x bare", detail)]


def b5() -> list[Figure]:
    """Memory of `colony run` over many sessions, against its first ten. `BENCH_SESSIONS` more."""
    sessions = int(os.environ.get("BENCH_SESSIONS", "200"))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home_with_work(home, sessions)
        seen = memory_over(home, sessions, environment())
    detail = (
        f"{seen.last / 1024:.1f} MiB against {seen.first / 1024:.1f}, peak {seen.peak / 1024:.1f}"
    )
    what = f"run, memory after {sessions:,} sessions"
    return [Figure("B5", what, seen.last / seen.first, "x its first ten", detail)]


def b7() -> list[Figure]:
    """The tracker's requests, each against an empty endpoint of the same server stack."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home_with_tickets(home, 1000)
        with served(home) as at:
            return [
                _b7(what, load, Load(f"{at.empty}/empty", load.method, body=load.body), clients)
                for what, load in _loads(at).items()
                for clients in (1, 8)
            ]


def _loads(at: Addresses) -> dict[str, Load]:
    known = {"Authorization": f"Bearer {at.token}"}
    rows = Load(f"{at.tracker}/api/tickets", headers=known)
    with Connection(rows) as connection:
        tag = connection.ask(0)["etag"]
    return {
        "one ticket": Load(f"{at.tracker}/api/tickets/shop/500", headers=known),
        "list of 1,000": rows,
        "304 of that list": replace(rows, headers=known | {"If-None-Match": tag}, status=304),
        # The last one: what it writes makes the tag above an old one.
        "comment": Load(
            f"{at.tracker}/api/tickets/shop/500/comments", "POST", known, a_comment, 201
        ),
    }


def _b7(what: str, ours: Load, empty: Load, clients: int) -> Figure:
    def rate(load: Load) -> float:
        return per_second(load, clients, 0.7)

    pairs = [(rate(ours), rate(empty)) for _ in range(5)]
    mine, theirs = (statistics.median(each) for each in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    detail = f"{mine:,.0f}/s against {theirs:,.0f}/s"
    each = f"{clients} client{'' if clients == 1 else 's'}"
    return Figure("B7", f"{what}, {each}", ratio, "x an empty endpoint", detail)


BENCHES: dict[str, Callable[[], list[Figure]]] = {
    "B1": b1, "B2": b2, "B3": b3, "B4": b4, "B5": b5, "B7": b7,
}  # fmt: skip


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"bench: no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}")
        return 2
    figures = [figure for name in names or BENCHES for figure in BENCHES[name]()]
    for figure in figures:
        print(f"{figure.name}  {figure.what:45} {figure.value:8.2f} {figure.unit}  {figure.detail}")
    RESULTS.write_text(json.dumps([asdict(figure) for figure in figures], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
