"""Completion: what the program offers, and the shells themselves that ask it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from colony.core.completion import SCRIPTS
from tests.cli.conftest import Colony
from tests.cli.stage import Stage, make_stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = make_stage(tmp_path)
    made.register("shop")
    made.register("shed", workers=False)
    for subject in ("A cart", "Prices\x1b[31m: in euros", "Old"):
        made.ticket("shop", subject)
    made.move(made.rows()[0].ref, "done")
    return made


def offered(colony: Colony, *words: str) -> list[str]:
    done = colony("completion", "words", "--", *words)
    assert (done.code, done.err) == (0, "")
    return [line.split("\t")[0] for line in done.lines]


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["t"], ["tail", "ticket", "tracker", "test"]),
        (["ticket", "s"], ["show", "state"]),
        (["tracker", "b"], ["backup"]),
        (["work", "--po"], ["--post", "--ports"]),
        (["--h"], ["--home", "--help"]),
        (["next", "--home", "/nowhere", "--po"], ["--post"]),
        (["work", ""], ["shed", "shop"]),
        (["work", "--post", "sho"], ["shop"]),
        (["ticket", "list", "--project", "she"], ["shed"]),
        (["work", "shop", ""], ["2", "3", "1"]),
        (["ticket", "block", "shop", "2", "shop", "3"], ["3"]),
        (["ticket", "state", "shop", "2", "pe"], ["pending"]),
        (["config", "max-t"], ["max-turns"]),
        (["config", "model", "tz"], ["tz"]),
        (["completion", "z"], ["zsh"]),
        (["work", "shop", "1", ""], []),
        (["work", "nowhere", ""], []),
        (["init", ""], []),
        (["frobnicate", "x"], []),
        (["ticket", "list", "--states"], []),
    ],
)
def test_what_could_stand_there(stage: Stage, words: list[str], some: list[str]) -> None:
    assert offered(stage, *words) == some


def test_a_ticket_is_told_with_its_subject_and_forges_nothing(stage: Stage) -> None:
    done = stage("completion", "words", "--", "work", "shop", "")
    assert done.lines[0] == "2\tPrices\\x1b[31m: in euros (open)"


def test_another_home_is_looked_into(stage: Stage) -> None:
    assert offered(stage, "--home", "/nowhere", "work", "") == []


def test_it_writes_nothing_and_needs_no_tracker(colony: Colony) -> None:
    colony.home.mkdir()
    (colony.home / ".env").write_text("nonsense")
    assert offered(colony, "work", "shop", "") == []
    assert offered(colony, "tic") == ["ticket"]
    assert [path.name for path in colony.home.iterdir()] == [".env"]


def test_another_shell(colony: Colony) -> None:
    done = colony("completion", "bsh")
    assert done.code == 2
    assert done.error.endswith("bsh: must be one of bash, zsh, fish (did you mean bash?)")


def installed(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"{shell} is not installed")
        pytest.skip(f"{shell} is not installed")
    return found


START = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}
FIRST = {"bash": "", "zsh": "autoload -Uz compinit && compinit -u -D; "}


class Terminal:
    """A shell at a terminal, and what it shows."""

    def __init__(self, shell: str, stage: Stage) -> None:
        ours, theirs = pty.openpty()
        self.fd = ours
        self.shown = ""
        self.process = subprocess.Popen(
            [installed(shell), *START[shell]],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=stage.cwd, start_new_session=True,
            env=stage.environ | {"TERM": "dumb", "PS1": "> ", "HISTFILE": ""},
        )  # fmt: skip
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def until(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in self.shown:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self.fd], [], [], left)[0]
            assert ready, f"{text!r} is not in {self.shown!r}"
            self.shown += os.read(self.fd, 65536).decode("utf-8", "replace")
            # zsh takes the blank behind a word back before it goes on.
            self.shown = self.shown.replace(" \x08", "")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.fd)


@pytest.fixture(params=sorted(START))
def terminal(request: pytest.FixtureRequest, stage: Stage) -> Iterator[Terminal]:
    shell: str = request.param
    script = stage.cwd / "completion"
    script.write_text(stage("completion", shell).out)
    opened = Terminal(shell, stage)
    opened.type(f"{FIRST[shell]}. {script}; echo rea''dy\n")
    opened.until("ready")
    yield opened
    opened.end()


def test_tab_completes_at_a_real_prompt(terminal: Terminal) -> None:
    terminal.type("colony tick\t")
    terminal.until("colony ticket ")
    terminal.type("sho\tsho\t3 --ful\t")
    terminal.until("colony ticket show shop 3 --full")


def test_file_names_are_left_to_the_shell(terminal: Terminal, stage: Stage) -> None:
    (stage.cwd / "unmistakable").mkdir()
    terminal.type("colony init unmis\t")
    terminal.until("colony init unmistakable/")


def test_fish_completes(stage: Stage) -> None:
    fish = installed("fish")
    (stage.cwd / "unmistakable").mkdir()
    script = stage.cwd / "completion"
    script.write_text(stage("completion", "fish").out)

    def completed(line: str) -> list[str]:
        done = subprocess.run(
            [fish, "--no-config", "-c", f"source {script}; complete -C '{line}'"],
            env=stage.environ, cwd=stage.cwd, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [each.split("\t")[0] for each in done.stdout.splitlines()]

    assert completed("colony tick") == ["ticket"]
    assert completed("colony work shop ") == ["1", "2", "3"]
    assert completed("colony init unmis") == ["unmistakable/"]


def test_the_scripts_call_this_very_program(colony: Colony) -> None:
    for shell in SCRIPTS:
        done = colony("completion", shell)
        assert f"{sys.executable} -m colony completion words" in done.out
        assert done.lines[0].startswith("# ")
        assert f"colony completion {shell}" in done.lines[0]
