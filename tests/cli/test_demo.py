"""`colony demo`.

| rule | test |
|---|---|
| three tickets, three ends, exit 0 | test_three_tickets_come_to_three_ends |
| what the creator reads, and how to go on | same; test_it_can_be_looked_at_afterwards |
| it says that no model works here, and is not noisy | test_it_says_what_it_is_once |
| nothing but Python and a shell is needed | test_nothing_but_python_and_a_shell_is_needed |
| neither checkout nor person's home are touched | test_it_leaves_nothing_but_its_own_folder |
| settings of the shell do not reach it | test_settings_of_this_shell_do_not_reach_it |
| an act that ends otherwise is a failure | test_an_act_that_ends_otherwise_is_a_failure |
| --json | test_json_says_the_same |
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Colony, Done
from tests.cli.stage import first_words, make_stage, timeless, told, valid


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Colony:
    """PATH holds a shell and nothing else; temporary folders are the test's own."""
    folder = tmp_path_factory.mktemp("demo")
    stage = make_stage(folder)
    for name in ("bin", "tmp", "person"):
        (folder / name).mkdir()
    (folder / "bin/sh").symlink_to("/bin/sh")
    environ = {
        "PATH": str(folder / "bin"),
        "HOME": str(folder / "person"),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }
    return Colony(stage.cwd, folder / "person", environ)


@pytest.fixture(scope="module")
def played(place: Colony) -> Done:
    return place("demo")


def homes(place: Colony) -> list[Path]:
    return sorted(Path(place.environ["TMPDIR"]).iterdir())


def home_of(done: Done) -> Path:
    found = re.search(r"all in (/\S+)", done.lines[0])
    assert found is not None
    return Path(found[1])


def test_three_tickets_come_to_three_ends(played: Done) -> None:
    assert (played.code, played.err) == (0, "")
    assert [line for line in played.lines if line.startswith(("WORK ", "CYCLE END"))] == [
        "WORK DONE — shop#1 is in review: its creator can try it",
        "CYCLE END — shop#1: posted",
        "WORK FAILED — shop#2 was sent back: its check failed",
        "CYCLE END — shop#2: sent back",
        "WORK HALF DONE — shop#3 is open again: the next worker continues",
        "CYCLE END — shop#3: half done",
    ]
    for text in (
        "TICKET shop#1 review — Show prices in euros",
        "  1. Run sh price.sh 3 199 in the shop's folder.",
        "  - Not true: thanks.sh greets the customer",
        "TICKET shop#4 pending — Question (shop#3): Offer the wrap with every order?",
    ):
        assert [line for line in played.lines if line.startswith(text)], text
    assert not [line for line in played.lines if "colony-report" in line]


def test_it_says_what_it_is_once(played: Done) -> None:
    assert "STAND-IN" in played.lines[1]
    assert played.out.count("STAND-IN") == 1
    assert "Traceback" not in played.out
    assert max(map(len, played.lines)) <= 160


def test_nothing_but_python_and_a_shell_is_needed(place: Colony, played: Done) -> None:
    assert [each.name for each in Path(place.environ["PATH"]).iterdir()] == ["sh"]
    assert played.code == 0
    price = ["sh", "price.sh", "3", "199"]
    shown = subprocess.run(price, cwd=home_of(played) / "shop", stdout=subprocess.PIPE, check=True)
    assert shown.stdout == b"5.97 EUR\n"


def test_it_leaves_nothing_but_its_own_folder(place: Colony, played: Done) -> None:
    assert home_of(played) in homes(place)
    assert not list(Path(place.environ["HOME"]).iterdir())
    assert not list(place.cwd.iterdir())
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--ignored", "projects", "templates"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "colony-demo" not in changed.stdout
    assert not (ROOT / "colony.db").exists()


def test_it_can_be_looked_at_afterwards(place: Colony, played: Done) -> None:
    home = str(home_of(played))
    commands = [line.strip() for line in played.lines if home in line and " --home " in line]
    assert len(commands) == 5
    copy = Path(home).with_name("copy")
    shutil.copytree(home, copy)
    for command in commands:
        words = re.findall(r'"[^"]*"|\S+', command)[1:]
        words = [word.strip('"').replace(home, str(copy)) for word in words]
        done = place(*words)
        assert done.code == 0, command
    listed = place("--home", str(copy), "ticket", "list", "--all")
    assert [line.split()[1:3] for line in listed.lines[:-1]] == [
        ["shop#1", "done"], ["shop#2", "open"], ["shop#3", "review"], ["shop#4", "done"],
    ]  # fmt: skip
    shutil.rmtree(copy)


def test_settings_of_this_shell_do_not_reach_it(place: Colony, tmp_path: Path) -> None:
    done = place(
        "demo", COLONY_HOME=str(tmp_path), COLONY_AGENT="claude", COLONY_INTAKE="members",
        COLONY_PERSON="mallory", COLONY_MAX_FAILS="1", COLONY_HOST="elm",
    )  # fmt: skip
    assert done.code == 0
    assert "mallory" not in done.out
    assert not list(tmp_path.iterdir())


def test_an_act_that_ends_otherwise_is_a_failure(place: Colony, tmp_path: Path) -> None:
    """A copy of the program whose script lies about the first ticket."""
    shutil.copytree(ROOT / "colony", tmp_path / "colony", ignore=shutil.ignore_patterns("__pyc*"))
    shutil.copytree(ROOT / "templates", tmp_path / "templates")
    file = tmp_path / "templates/demo/script.json"
    script = json.loads(file.read_text())
    script["tickets"]["shop#1"] = script["tickets"]["shop#2"]
    file.write_text(json.dumps(script))
    assert place("demo", PYTHONPATH=str(tmp_path)).code == 1


def test_json_says_the_same(place: Colony, played: Done) -> None:
    objects = valid(place("demo", "--json"))
    assert {"demo", "demo.text", "next", "work.leased", "ticket", "ticket.event"} <= {
        each["kind"] for each in objects
    }
    facts = [each for each in told(objects) if each and not each.startswith(("TICKET", "  "))]
    lines = [each for each in played.lines if each and not each.startswith(("TICKET", "  "))]
    home = re.compile(r"/\S+/colony-demo-\w+")
    assert [home.sub("H", each) for each in timeless(facts)] == [
        home.sub("H", each) for each in timeless(lines)
    ]
    assert objects[0]["home"].startswith(place.environ["TMPDIR"])


def test_python_is_the_only_program_it_was_started_with(place: Colony) -> None:
    """The interpreter is found by its own path, not on PATH."""
    assert shutil.which(Path(sys.executable).name, path=place.environ["PATH"]) is None


def test_words_of_its_lines(played: Done) -> None:
    assert first_words(played)[:3] == ["DEMO", "DEMO", "DEMO"]
