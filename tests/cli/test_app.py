"""The frame: help, versions, wrong usage, errors in one line, output that cannot be written."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from colony.cli import app
from tests.cli.conftest import Colony


def test_without_a_verb_it_shows_what_there_is(colony: Colony) -> None:
    done = colony()
    assert done.code == 2
    assert "Usage: colony" in done.out
    assert done.err == ""


def test_help_lists_every_verb_that_is_there_and_no_other(colony: Colony) -> None:
    done = colony("--help")
    assert done.code == 0
    here = Path(app.__file__).parent
    there = {path.stem for path in here.glob("*.py")}
    there |= {path.parent.name for path in here.glob("*/__init__.py")}
    for panel in app.PANELS.values():
        for verb in panel:
            assert (f"\n  {verb.name} " in done.out) == (verb.name in there), verb.name


def test_every_verb_says_what_it_does(colony: Colony) -> None:
    done = colony("ticket", "new", "--help")
    assert done.code == 0
    assert "[COLONY_HOME]" in done.out
    assert "--json" in done.out


def test_the_version(colony: Colony) -> None:
    done = colony("--version")
    assert (done.code, done.out.split()[0]) == (0, "colony")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tickte"], "no such command: tickte (did you mean ticket?)"),
        (["frobnicate"], "no such command: frobnicate (see colony --help)"),
        (["ticket"], "Missing command (see colony ticket --help)"),
        (["ticket", "new"], "Missing argument 'SUBJECT' (see colony ticket new --help)"),
        (["ticket", "list", "--bogus"], "No such option: --bogus"),
        (["--bogus"], "No such option: --bogus"),
        (["--json"], "a command is missing"),
        (["\x1b[31m"], "no such command: \\x1b[31m"),
        (["ticket", "list", "--home", ""], "--home: must not be empty"),
    ],
)
def test_wrong_usage_is_one_line(colony: Colony, words: list[str], told: str) -> None:
    done = colony(*words)
    text = done.out if "--json" in words else done.error
    assert done.code == 2
    assert told in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [["--json", "ticket", "show", "shop", "9"], ["ticket", "show", "shop", "9", "--json"]]
)
def test_an_error_is_a_json_line_where_json_was_asked_for(colony: Colony, words: list[str]) -> None:
    colony.register("shop")
    colony("ticket", "new", "x")
    done = colony(*words)
    assert (done.code, done.err) == (3, "")
    [line] = done.objects
    assert (line["kind"], line["code"], line["exit"]) == ("error", "not_found", 3)


def test_wrong_usage_is_a_json_line_too(colony: Colony) -> None:
    done = colony("ticket", "list", "--json", "--bogus")
    assert (done.code, done.err) == (2, "")
    assert [line["kind"] for line in done.objects] == ["error"]


def test_home_before_or_behind_the_verb(colony: Colony, tmp_path: Path) -> None:
    for words in (["--home", "x", "ticket", "list"], ["ticket", "list", "--home", "x"]):
        done = colony(*words)
        assert done.code == 4
        assert str(colony.cwd / "x" / "colony.db") in done.error


def test_a_mistake_of_the_programs_own_is_one_line(colony: Colony, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import zoneinfo\n"
        "class Broken:\n"
        "    def __init__(self, key): raise RuntimeError('two\\nlines')\n"
        "zoneinfo.ZoneInfo = Broken\n"
    )
    path = f"{broken}:{colony.environ['PYTHONPATH']}"
    colony.environ["COLONY_TZ"] = "Europe/Vienna"
    done = colony("ticket", "list", PYTHONPATH=path)
    assert done.code == 1
    assert done.error.startswith("ERROR a bug in Colony: RuntimeError: two lines")
    shown = colony("ticket", "list", PYTHONPATH=path, COLONY_DEBUG="1")
    assert "Traceback" in shown.err


def test_a_reader_that_leaves_ends_nothing(colony: Colony) -> None:
    colony.register("shop")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "colony", "ticket", "new", "kept all the same"],
        cwd=colony.cwd, env=colony.environ, stdout=write, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "kept all the same" in colony("ticket", "list").out


def test_a_full_disk_behind_the_output_is_told(colony: Colony) -> None:
    colony.register("shop")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "colony", "ticket", "new", "kept all the same"],
            cwd=colony.cwd, env=colony.environ, stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["ERROR output was lost: No space left on device"]
    assert "kept all the same" in colony("ticket", "list").out


def test_closed_streams_are_no_trouble(colony: Colony) -> None:
    colony.register("shop")
    script = f'exec "{sys.executable}" -m colony ticket new x >&- 2>&- <&-'
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=colony.cwd, env=colony.environ, check=False
    )
    assert done.returncode == 0
    assert "shop#1" in colony("ticket", "list").out


def test_an_encoding_that_cannot_say_it_escapes_it(colony: Colony) -> None:
    colony.register("shop")
    done = colony("ticket", "new", "grün — 🚀", PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert done.lines[-1] == "TICKET shop#1 open \\u2014 gr\\xfcn \\u2014 \\U0001f680"


def on_terminal(colony: Colony, *words: str, **environ: str) -> str:
    """What a person sees at a terminal of 24 lines and 100 columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, b"\x18\x00\x64\x00\x00\x00\x00\x00")
    done = subprocess.Popen(
        [sys.executable, "-m", "colony", *words],
        cwd=colony.cwd, env={**colony.environ, "TERM": "xterm", **environ},
        stdin=slave, stdout=slave, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    shown = b""
    # Reading from a terminal whose other end has gone is an error, not an end.
    with contextlib.suppress(OSError):
        while piece := os.read(master, 65536):
            shown += piece
    os.close(master)
    assert done.wait(30) == 0
    return shown.decode()


def test_a_terminal_is_shown_a_table(colony: Colony) -> None:
    colony.register("shop")
    colony("ticket", "new", "[red]brackets[/red]")
    shown = on_terminal(colony, "ticket", "list")
    assert "subject" in shown
    assert "[red]brackets[/red]" in shown
    assert "TICKET shop#1" not in shown


def test_a_terminal_is_coloured_unless_no_color_is_set(colony: Colony) -> None:
    colony.register("shop")
    colony("ticket", "new", "x", "--summary", "# Title\n\n[link](http://shop.example)")
    assert "\x1b[2m  opened by anna" in on_terminal(colony, "ticket", "show", "shop", "1")
    plain = on_terminal(colony, "ticket", "show", "shop", "1", NO_COLOR="1")
    assert "\n  opened by anna" in plain
    assert "\x1b[3" not in plain
    assert "\x1b]8" not in on_terminal(colony, "ticket", "show", "shop", "1")
    assert "\x1b" not in on_terminal(colony, "ticket", "show", "shop", "1", TERM="dumb")


LEAN = [
    ["--help"],
    ["--version"],
    ["next"],
    ["ticket", "list"],
    ["ticket", "show", "shop", "1"],
    ["ticket", "new", "another"],
]
HEAVY = {
    "rich", "httpx", "jsonschema", "jinja2", "fastapi", "psycopg", "psutil", "filelock",
    "asyncio", "pydantic", "starlette", "uvicorn", "prometheus_client", "colony.serve",
    "colony.core.schema", "colony.core.brief",
}  # fmt: skip


@pytest.mark.parametrize("words", LEAN, ids=" ".join)
def test_a_short_command_loads_nothing_heavy(colony: Colony, words: list[str]) -> None:
    colony.register("shop")
    colony("ticket", "new", "x")
    script = (
        "import sys; from colony.cli.app import main; code = main(sys.argv[1:]);"
        "print('\\n'.join(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=colony.cwd, env=colony.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    loaded = set(done.stderr.split())
    assert "colony.cli.app" in loaded
    assert not loaded & HEAVY
    assert words[:2] == ["ticket", "show"] or "zoneinfo" not in loaded
    if words == ["next"]:
        writing = ("protocol", "writes", "roles", "records.reads", "serving", "sql.moving")
        assert not loaded & {f"colony.tracker.{name}" for name in writing}
        assert not loaded & {"colony.core.records", "colony.config.shown"}
    if words[0].startswith("--"):
        assert not loaded & {"sqlite3", "colony.flow.wiring", "colony.cli.ticket"}


def test_nothing_of_a_checkout_is_needed(colony: Colony, tmp_path: Path) -> None:
    """Without COLONY_HOME the home is under the user's state folder, or where XDG says."""
    copy = tmp_path / "site"
    copy.mkdir()
    (copy / "colony").symlink_to(Path(app.__file__).parents[1])
    bare = {name: value for name, value in colony.environ.items() if name != "COLONY_HOME"}
    colony.environ = bare | {"XDG_STATE_HOME": str(tmp_path / "state")}
    done = colony("ticket", "list", "--home", str(tmp_path / "elsewhere"))
    assert str(tmp_path / "elsewhere/colony.db") in done.error
