"""Commands on a tracker behind a server: whose token they send, and what they refuse without.

The server is real, on a socket of this process; the commands are processes of their own.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import ONE_TRY, Colony, Done
from tests.fakes import served


@dataclass
class Remote:
    """A home whose tracker is `url`; anna owns it, and colony is its machine."""

    colony: Colony
    store: served.Store
    url: str

    def __call__(self, *words: str, **environ: str) -> Done:
        return self.colony(*words, **{"COLONY_TICKETS_URL": self.url} | environ)

    def token(self, user: str, *, machine: bool = False, owner: bool = False) -> str:
        """The path of a file with a token of this user."""
        path = self.colony.cwd / f"token-{user}"
        path.write_text(self.store.token(user, machine=machine, owner=owner) + "\n")
        path.chmod(0o600)
        return str(path)

    def as_anna(self, *words: str, **environ: str) -> Done:
        token = self.token("anna", owner=True)
        return self(*words, **{"COLONY_PERSON_TOKEN_FILE": token} | environ)

    def as_colony(self, *words: str, **environ: str) -> Done:
        return self(*words, **{"COLONY_TOKEN_FILE": self.token("colony", machine=True)} | environ)

    @property
    def nothing_local(self) -> bool:
        return not list(self.colony.home.rglob("*.db"))


@pytest.fixture
def remote(colony: Colony) -> Iterator[Remote]:
    store = served.in_memory(clock=lambda: served.START_MS)
    with closing(store), served.serving(store) as url:
        yield Remote(colony, store, url)
        assert store.bugs == []


def test_a_project_is_set_up_and_a_ticket_opened_without_a_database_here(remote: Remote) -> None:
    dev = remote.colony.cwd / "shop"
    dev.mkdir()
    done = remote.as_anna("init", str(dev))
    assert (done.code, done.err) == (0, "")
    assert done.lines[-1] == "INIT shop is registered"
    made = remote.as_anna("ticket", "new", "A cart")
    assert (made.code, made.err) == (0, ""), made
    assert remote.nothing_local
    assert "tracker made" not in done.out + made.out
    [row] = remote.store.service.tickets()
    assert (row.subject, row.author, row.machine) == ("A cart", "anna", False)


def test_a_person_reads_and_writes_tickets(remote: Remote) -> None:
    remote.colony.register("shop")
    assert remote.as_anna("ticket", "new", "A cart").code == 0
    for words in (
        ("comment", "shop", "1", "with wheels"),
        ("edit", "shop", "1", "--summary", "a big one"),
        ("state", "shop", "1", "review"),
    ):
        done = remote.as_anna("ticket", *words)
        assert (done.code, done.err) == (0, ""), done
    shown = remote.as_anna("ticket", "show", "shop", "1")
    assert "with wheels" in shown.out
    assert remote.as_anna("ticket", "list", "--json").objects[0]["state"] == "review"


def test_next_says_the_same_as_on_a_database_file(remote: Remote) -> None:
    remote.colony.register("shop")
    for subject in ("A cart", "A till"):
        assert remote.as_anna("ticket", "new", subject).code == 0
        assert remote.colony("ticket", "new", subject).code == 0
    told = remote.as_colony("next")
    assert (told.code, told.err) == (0, "")
    assert told.out == remote.colony("next").out


def test_reads_need_no_token_where_the_server_lets_readers_in(remote: Remote) -> None:
    remote.colony.register("shop")
    assert remote.as_anna("ticket", "new", "A cart").code == 0
    shut = remote("next")
    assert shut.code == 4
    assert shut.error.startswith(
        "ERROR the tracker wants a token, and there is none: COLONY_TOKEN_FILE names no file"
    )
    with served.serving(remote.store, public_read=True) as url:
        assert remote("next", COLONY_TICKETS_URL=url).code == 0
    # A person's own token is good enough to look.
    assert remote.as_anna("next").code == 0


REFUSED = {
    "no person's token": (
        ("ticket", "list"), {},
        "COLONY_PERSON_TOKEN_FILE is not set: you act as a person; colony tracker token anna,",
    ),
    "no token of Colony": (
        ("leases",), {},
        "COLONY_TOKEN_FILE is not set: Colony writes as a machine;"
        " colony tracker token colony --machine,",
    ),
    "a machine's token for a person": (
        ("ticket", "list"), {"COLONY_PERSON_TOKEN_FILE": "machine"},
        "holds the token of colony, who is a machine: you act as a person;"
        " colony tracker token anna, where",
    ),
    "a person's token for Colony": (
        ("leases",), {"COLONY_TOKEN_FILE": "person"},
        "holds the token of anna, who is a person: Colony writes as a machine;"
        " colony tracker token colony --machine, where",
    ),
    "a file that is missing": (
        ("next",), {"COLONY_TOKEN_FILE": "/nowhere/token"},
        "COLONY_TOKEN_FILE /nowhere/token: does not exist",
    ),
    "a file without a token": (
        ("next",), {"COLONY_TOKEN_FILE": "empty"}, "empty: is empty",
    ),
    "a backup": (
        ("tracker", "backup", "copy.db"), {},
        "COLONY_TICKETS_URL names a server: a backup is made where",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "given", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_says_what_would_help(
    remote: Remote, words: tuple[str, ...], given: dict[str, str], told: str
) -> None:
    empty = remote.colony.cwd / "empty"
    empty.touch()
    files = {
        "machine": remote.token("colony", machine=True),
        "person": remote.token("anna", owner=True),
        "empty": str(empty),
    }
    environ = {name: files.get(value, value) for name, value in given.items()}
    done = remote(*words, **environ)
    assert (done.code, done.out) == (3, "")
    assert told in done.error
    assert "tkt_" not in done.error
    assert remote.nothing_local


def test_a_token_that_everybody_can_read_is_warned_about(remote: Remote) -> None:
    path = Path(remote.token("colony", machine=True))
    path.chmod(0o644)
    done = remote("leases", COLONY_TOKEN_FILE=str(path))
    assert done.code == 0
    assert done.error == (
        f"WARNING — COLONY_TOKEN_FILE {path}: every user of this machine can read it"
        " (chmod 600 makes it yours)"
    )


def test_a_token_that_is_not_accepted_is_named_by_its_file(remote: Remote) -> None:
    path = remote.colony.cwd / "old"
    path.write_text("tkt_" + "x" * 43)
    path.chmod(0o600)
    done = remote("next", COLONY_TOKEN_FILE=str(path))
    assert done.code == 4
    assert f"does not accept the token of COLONY_TOKEN_FILE {path}" in done.error
    assert "xxx" not in done.error


def test_a_server_that_is_not_there_is_said_in_one_line(remote: Remote) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environ = {
        "COLONY_TICKETS_URL": f"http://127.0.0.1:{port}",
        "COLONY_TOKEN_FILE": remote.token("colony", machine=True),
    }
    done = remote.colony.hurried(ONE_TRY, "next", "--json", **environ)
    assert done.code == 4
    [told] = done.objects
    assert told["code"] == "no_answer"
    assert told["text"].startswith(
        f"GET /api/projects: http://127.0.0.1:{port} cannot be reached (["
    )


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("COLONY_TICKETS_URL", "http://anna:secret@127.0.0.1:1", "must hold no name"),
        ("COLONY_USER_AGENT", "Kolonie-ä", "COLONY_USER_AGENT Kolonie-ä: must be ASCII"),
    ],
)
def test_values_that_cannot_be_used(remote: Remote, name: str, value: str, told: str) -> None:
    done = remote.as_colony("next", **{name: value})
    assert done.code == 2
    assert told in done.error
    assert "secret" not in done.error


def test_no_http_client_is_loaded_for_a_database_file_and_no_database_for_http(
    remote: Remote,
) -> None:
    remote.colony.register("shop")
    assert remote.colony("ticket", "new", "A cart").code == 0
    local = loaded(remote.colony("next", PYTHONPROFILEIMPORTTIME="1"))
    assert "httpx" not in local
    assert "sqlite3" in local
    over = loaded(remote.as_colony("next", PYTHONPROFILEIMPORTTIME="1"))
    assert "httpx" in over
    assert not {"sqlite3", "fastapi", "jsonschema", "jinja2"} & over


def loaded(done: Done) -> set[str]:
    assert done.code == 0
    return {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
