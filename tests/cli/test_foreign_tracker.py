"""The commands over somebody else's tracker: a real server that knows the least there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from stage import Stage, answer, make_stage, verdict

from tests.fakes.bare_tracker import BareTracker, Speaks


@dataclass
class Abroad:
    """A stage whose tracker is such a server, with shop#1 in it."""

    stage: Stage
    server: BareTracker

    def file(self, user: str) -> str:
        """A file with this user's token."""
        path = self.stage.cwd.parent / f"{user}.token"
        path.write_text(self.server.token(user) + "\n")
        path.chmod(0o600)
        return str(path)


@pytest.fixture
def abroad(tmp_path: Path) -> Iterator[Callable[..., Abroad]]:
    servers: list[BareTracker] = []

    def make(speaks: Speaks | None = None) -> Abroad:
        server = BareTracker(
            lambda: time.time_ns() // 10**6, speaks or Speaks(), creators=frozenset({"anna"})
        )
        servers.append(server)
        stage = make_stage(tmp_path)
        made = Abroad(stage, server)
        stage.environ |= {
            "COLONY_TICKETS_URL": server.url,
            "COLONY_TOKEN_FILE": made.file("colony"),
            "COLONY_PERSON_TOKEN_FILE": made.file("anna"),
            "COLONY_OWN_USERS": "colony,ants",
            "COLONY_CREATOR_NAMES": "anna",
        }
        stage.register("shop")
        stage.script(work=[{"run": "echo cart"}, answer()], check=[verdict("pass", "ok")])
        server.create("anna", {"project": "shop", "subject": "A cart"})
        return made

    yield make
    for each in servers:
        each.close()


@pytest.mark.parametrize("speaks", [Speaks(), Speaks(older_words=True)], ids=["bare", "older"])
def test_a_whole_cycle_and_what_a_person_makes_of_it(
    abroad: Callable[..., Abroad], speaks: Speaks
) -> None:
    made = abroad(speaks)
    stage, server = made.stage, made.server
    done = stage("cycle", "--post")
    assert done.code == 0, done.out + done.err
    assert server.tickets["shop", 1]["state"] in ("review", "awaiting creator")
    assert "· started ·" in server.tickets["shop", 1]["events"][1]["text"]
    shown = stage("ticket", "show", "shop", "1")
    assert "review" in shown.out
    assert stage("ticket", "state", "shop", "1", "reopened", "--text", "No wheels.").code == 0
    assert server.tickets["shop", 1]["events"][-1]["author"] == "anna"
    assert "rework" in stage("next").out
    assert stage("cycle", "--post").code == 0
    assert stage("ticket", "state", "shop", "1", "done").code == 0
    assert server.tickets["shop", 1]["state"] in ("done", "confirmed")


@pytest.mark.parametrize(
    "words", [("work", "shop", "1"), ("cycle",), ("work", "shop", "1", "--dry-run")]
)
def test_without_own_users_nothing_is_worked(
    abroad: Callable[..., Abroad], words: tuple[str, ...]
) -> None:
    made = abroad()
    done = made.stage(*words, COLONY_OWN_USERS="")
    assert done.code == 3
    assert "COLONY_OWN_USERS" in done.out + done.err
    assert all(method == "GET" for method, _ in made.server.requests)
    assert made.stage.runs == []


def test_a_token_that_is_not_one_of_the_own_users_is_told(abroad: Callable[..., Abroad]) -> None:
    """What it wrote would count for nothing: it does not go on as if it held a lease."""
    made = abroad()
    done = made.stage("work", "shop", "1", COLONY_OWN_USERS="ants")
    assert done.code == 3, done.out + done.err
    assert "'colony'" in done.out + done.err
    assert "COLONY_OWN_USERS" in done.out + done.err
    assert len(made.server.tickets["shop", 1]["events"]) == 2


def test_reading_needs_no_own_users(abroad: Callable[..., Abroad]) -> None:
    made = abroad()
    done = made.stage("next", COLONY_OWN_USERS="")
    assert done.code == 0
    assert "shop#1" in done.out


@pytest.mark.parametrize("relations", [False, True])
def test_the_brief_says_whether_relations_are_served(
    abroad: Callable[..., Abroad], relations: bool
) -> None:
    made = abroad(Speaks(relations=relations))
    done = made.stage("brief", "shop", "1", "--out", "brief.md")
    assert done.code == 0, done.out + done.err
    assert ("serves no relations" in (made.stage.cwd / "brief.md").read_text()) != relations


def test_an_older_tracker_takes_no_canceled(abroad: Callable[..., Abroad]) -> None:
    made = abroad(Speaks(older_words=True))
    done = made.stage("ticket", "state", "shop", "1", "canceled")
    assert done.code == 3
    assert "canceled" in done.err
    assert made.server.tickets["shop", 1]["state"] == "open"


def test_links_are_refused_in_one_line(abroad: Callable[..., Abroad]) -> None:
    made = abroad()
    made.server.create("anna", {"project": "shop", "subject": "A wheel"})
    done = made.stage("ticket", "block", "shop", "1", "shop", "2")
    assert done.code == 3, done.out + done.err
    assert "no relations" in done.error
