"""The real Claude Code program on one machine, the tracker on another, a deploy from a third."""

from __future__ import annotations

import json
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.conftest import Colony, until
from tests.acceptance.model import Model, as_text, bash, report, verdict

pytestmark = pytest.mark.real_claude

LOOK = "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; env"


@contextmanager
def a_server(there: Colony) -> Iterator[str]:
    """`colony tracker serve` as a process of its own; its address."""
    process = there.start("--json", "tracker", "serve", "--listen", "127.0.0.1:0")
    assert process.stdout is not None
    select.select([process.stdout], [], [], 60)
    line = json.loads(process.stdout.readline())
    assert line["kind"] == "serve"
    yield line["url"]
    process.send_signal(signal.SIGTERM)
    until(lambda: process.poll() is not None, 10)
    assert process.returncode == 0, process.communicate()


def a_machine(real: Colony, url: str, name: str) -> Colony:
    """Another machine: a home with the registry alone, and the tokens of a machine and a person."""
    home = real.home.parent / name
    (home / "projects").mkdir(parents=True)
    files = {}
    for user, kind in ((f"ants-{name}", "--machine"), ("anna", "--owner")):
        path = home / f"{user}.token"
        made = real("tracker", "token", user, kind, "--to", str(path))
        assert made.code == 0, made
        files[kind] = str(path)
    more = {
        "COLONY_HOME": str(home),
        "COLONY_HOST": name,
        "COLONY_TICKETS_URL": url,
        "COLONY_TOKEN_FILE": files["--machine"],
        "COLONY_PERSON_TOKEN_FILE": files["--owner"],
    }
    return replace(real, home=home, environ=real.environ | more, started=[])


def secrets(machine: Colony) -> set[str]:
    names = ("COLONY_TOKEN_FILE", "COLONY_PERSON_TOKEN_FILE")
    return {Path(machine.environ[name]).read_text().strip() for name in names}


def test_worked_there_served_here_deployed_from_elsewhere(real: Colony, model: Model) -> None:
    real.register(allowedTools=["Bash"], live={"url": "https://shop.example"})
    model.plays("work", [bash("echo 370 > total.txt"), bash(LOOK), report()])
    model.plays("check", [bash("cat total.txt"), verdict()])
    with a_server(real) as url:
        worker, deployer = a_machine(real, url, "oak"), a_machine(real, url, "elm")
        worker.register(allowedTools=["Bash"], live={"url": "https://shop.example"})
        done = worker("cycle", "--post")
        assert done.code == 0, done
        assert done.lines[-1] == "CYCLE END — shop#1: ready to deploy"
        [run] = worker.runs
        assert real.runs == []

        # What was built on one machine is told by another, which has no file of it.
        assert deployer("ready").told("READY shop#1")
        assert deployer.runs == []
        told = deployer("deployed", "shop", "1")
        assert (told.code, told.told("DEPLOYED")) == (
            0, [f"DEPLOYED — shop#1 (session {run.name}, live)"],
        )  # fmt: skip
        assert deployer("deployed", "shop", "1").lines[-1].endswith("nothing new")
        assert deployer("ticket", "state", "shop", "1", "done").code == 0
        listed = deployer("sessions", "--json")
        assert any(run.name in line for line in listed.lines), listed
    assert real.state() == "done"
    authors = {each.get("author") for each in real.shown()}
    assert {"ants-oak", "ants-elm", "anna"} <= authors

    # No token left the two processes that had to know it.
    shown = as_text([*model.requests("work"), *model.requests("check")])
    kept = b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file())
    for secret in secrets(worker) | secrets(deployer):
        assert secret not in shown
        assert secret.encode() not in kept
        assert secret not in real.history()
    assert f"COLONY_SESSION={run.name}" in shown, "the worker looked around"
    worker.end()
    deployer.end()
