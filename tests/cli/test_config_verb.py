"""`colony config`: every setting with its source, also where some cannot be used."""

from __future__ import annotations

import re

import pytest

from colony.core.settings import SETTINGS
from tests.cli.conftest import Colony
from tests.cli.stage import told, valid


def test_every_setting_has_a_line(colony: Colony) -> None:
    done = colony("config")
    assert (done.code, done.err) == (0, "")
    names = [line.split()[1] for line in done.lines]
    assert names == [setting.flag[2:] for setting in SETTINGS]
    assert not colony.home.exists()


def test_where_each_comes_from(colony: Colony) -> None:
    colony.home.mkdir()
    (colony.home / ".env").write_text("# mine\nCOLONY_MODEL=opus\nCOLONY_MAX_TURNS=7\nOTHER=1\n")
    done = colony("config", "model", "max_turns", "COLONY_TZ", "--tz", "Europe/Vienna",
                  COLONY_MAX_TURNS="8")  # fmt: skip
    assert done.code == 0
    assert [re.split("  +", line) for line in done.lines] == [
        ["CONFIG tz", "--tz", "Europe/Vienna"],
        ["CONFIG model", ".env line 2", "opus"],
        ["CONFIG max-turns", "COLONY_MAX_TURNS", "8"],
    ]


def test_what_a_default_stands_for(colony: Colony) -> None:
    done = colony("config", "runs-dir", "heartbeat", "controller-claude", "max-budget-usd",
                  COLONY_CLAUDE="/opt/claude", COLONY_LEASE_TTL="100")  # fmt: skip
    assert [line.split()[-1] for line in done.lines] == [
        f"{colony.home}/runs",
        "-",
        "/opt/claude",
        "50",
    ]


def test_only_what_was_changed(colony: Colony) -> None:
    done = colony("config", "--changed")
    assert [line.split()[1] for line in done.lines] == ["home", "person"]


def test_what_cannot_be_used_is_named_and_the_rest_is_shown(colony: Colony) -> None:
    colony.home.mkdir()
    (colony.home / ".env").write_text("nonsense\nCOLONY_PERSN=x\nCOLONY_PORT_POOL=1-2\n")
    done = colony(
        "config", COLONY_MAX_TURNS="no", COLONY_PERMISSION_MODE="bypassPermissions", COLONY_TZ="X/Y"
    )
    assert done.code == 2
    assert len(done.lines) == len(SETTINGS)
    line = next(line for line in done.lines if " max-turns " in line)
    assert re.split("  +", line)[-2:] == ["COLONY_MAX_TURNS (cannot be used)", "no"]
    problems = done.err.splitlines()
    assert problems[:2] == [
        f"ERROR {colony.home}/.env:1: not of the form NAME=value",
        f"ERROR {colony.home}/.env:2: COLONY_PERSN is no setting (did you mean COLONY_PERSON?)",
    ]
    rest = "\n".join(problems[2:])
    assert "COLONY_TZ X/Y: must be a time zone" in rest
    assert "COLONY_MAX_TURNS no: must be a whole number" in rest
    assert "bypassPermissions: never" in rest
    assert "COLONY_PORTS_PER_SESSION 10: must fit into the pool 1-2" in rest
    assert len(problems) == 6


def test_a_bad_home_is_named_too(colony: Colony) -> None:
    done = colony("config", "home", "model", COLONY_HOME="")
    assert (done.code, len(done.lines)) == (2, 2)
    assert done.error == "ERROR COLONY_HOME: must not be empty"


def test_a_secret_is_not_shown(colony: Colony) -> None:
    for url in ("postgresql://a:hunter2@db/x", "mysql://a:hunter2@db/x"):
        done = colony("config", COLONY_TICKETS_URL=url)
        assert "hunter2" not in done.out + done.err
        line = next(line for line in done.lines if " tickets-url " in line)
        assert line.split()[2] == "COLONY_TICKETS_URL"
        assert line.split()[-1] == "set"


def test_an_address_without_a_secret_is_shown(colony: Colony) -> None:
    done = colony("config", "tickets-url", COLONY_TICKETS_URL="http://127.0.0.1:8600")
    assert done.lines[0].split()[-1] == "http://127.0.0.1:8600"


def test_an_unknown_variable_is_warned_about(colony: Colony) -> None:
    done = colony("config", "--changed", COLONY_PERSN="bo")
    assert done.code == 0
    assert done.error == "WARNING COLONY_PERSN is no setting (did you mean COLONY_PERSON?)"


@pytest.mark.parametrize("name", ["max-turn", "COLONY_MAX_TURN"])
def test_a_name_that_is_none(colony: Colony, name: str) -> None:
    done = colony("config", name)
    assert done.code == 2
    assert "no setting is called so (did you mean " in done.error


def test_json_says_the_same(colony: Colony) -> None:
    objects = valid(colony("config", "model", "tz", "--json", COLONY_MODEL="opus"))
    assert objects[1] == {
        "kind": "config",
        "text": "model opus — COLONY_MODEL",
        "setting": "model",
        "variable": "COLONY_MODEL",
        "value": "opus",
        "source": "COLONY_MODEL",
        "usable": True,
    }
    assert told(objects)[0] == "CONFIG tz UTC — default"


def test_a_token_instead_of_its_file_is_refused_and_never_shown(colony: Colony) -> None:
    secret = "tkt_" + "a1B" * 14
    line = "COLONY_TOKEN_FILE: holds a token; it must name a file that holds it"
    url = "http://127.0.0.1:9"
    for verb in (["config"], ["--json", "config"], ["doctor"], ["work", "p", "1"], ["next"]):
        done = colony(*verb, COLONY_TOKEN_FILE=secret, COLONY_TICKETS_URL=url)
        assert done.code != 0, verb
        assert line in done.out + done.err, verb
        assert "a1B" not in done.out + done.err, verb
