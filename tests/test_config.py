"""Settings: where each value comes from, and what is refused under which name."""

from __future__ import annotations

import dataclasses
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.config import Machine, Settings, find_home, read, unknown_variables
from colony.config.shown import listing
from colony.core.settings import BY_NAME, SETTINGS
from colony.errors import ColonyError, Refused, UsageProblem

MACHINE = Machine(
    cwd=Path("/work"),
    user_home=Path("/users/anna"),
    login="anna",
    host="elm",
    templates=Path("/opt/colony/templates"),
    checkout=None,
    has_zone=zoneinfo.available_timezones().__contains__,
)
HOME = Path("/users/anna/.local/state/colony")


def settings(
    flags: dict[str, str] | None = None,
    environ: dict[str, str] | None = None,
    env_text: str = "",
    machine: Machine = MACHINE,
) -> Settings:
    return read(flags or {}, environ or {}, env_text, machine)


def refusal(*given: Any) -> str:
    with pytest.raises(UsageProblem) as caught:
        settings(*given)
    return caught.value.line


def test_the_defaults() -> None:
    found = settings()
    assert found.place.home == HOME
    assert found.place.projects_dir == HOME / "projects"
    assert found.place.host == "elm"
    assert found.tracker.url == f"sqlite:///{HOME}/colony.db"
    assert (found.tracker.user, found.tracker.person) == ("colony", "anna")
    assert (found.tracker.intake, found.tracker.creator_names) == ("members", ("creator",))
    assert (found.work.model, found.work.max_turns, found.work.timeout) == ("sonnet", 40, 3600)
    assert (found.work.permission_mode, found.work.sandbox) == ("auto", True)
    assert (found.work.ports, found.work.port_pool) == ((8700, 8749), (8700, 8799))
    assert (found.work.max_budget_usd, found.work.allowed_tools) == (None, ())
    assert (found.check.max_turns, found.check.timeout, found.check.max_fails) == (20, 900, 2)
    assert (found.run.reserve, found.run.week_limit, found.run.quota_claude) == (70, 84, "claude")
    assert found.work.max_cost_per_day is None
    assert (found.check.claude, found.lease.ttl, found.lease.heartbeat) == ("claude", 7200, 3600)


def test_flag_then_variable_then_env_file_then_default() -> None:
    text = "COLONY_MODEL=three\nCOLONY_MAX_TURNS=3\nCOLONY_USER=three"
    environ = {"COLONY_MODEL": "two", "COLONY_MAX_TURNS": "2"}
    found = settings({"model": "one"}, environ, text)
    assert found.work.model == "one"
    assert found.work.max_turns == 2
    assert found.tracker.user == "three"
    assert found.work.timeout == 3600


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_each_setting_reaches_its_part(setting: Any) -> None:
    samples = {
        "home": "/h", "projects_dir": "/p", "runs_dir": "/r", "host": "oak",
        "tickets_url": "https://tickets.example", "user": "ants", "person": "bo",
        "intake": "all", "inbox_project": "inbox", "creator_names": "Bo, Cy",
        "tz": "Europe/Vienna", "agent": "stand-in", "claude": "/bin/claude",
        "stand_in_script": "/s.json", "model": "haiku", "max_turns": "7",
        "permission_mode": "plan", "timeout": "700", "max_budget_usd": "1.5",
        "allowed_tools": "Read,Bash(git log:*, git show:*)", "pass_env": "A,B",
        "sandbox": "off", "sandbox_ro": "/ro:/more", "ports": "1-2", "port_pool": "9000-9999",
        "ports_per_session": "9",
        "brief_max_chars": "10000", "ui_conventions": "/ui.md",
        "controller_claude": "/bin/c2", "controller_model": "opus",
        "controller_max_turns": "3", "controller_timeout": "4", "max_fails": "5",
        "lease_ttl": "100", "heartbeat": "9", "token_file": "~/colony-token",
        "person_token_file": "/t/mine", "creator_token_file": "t", "own_users": "ants, Old ants",
        "user_agent": "ants/1", "listen": "[::1]:8601", "public_url": "https://t.example/",
        "public_read": "on", "write_limit": "0",
        "finalize_max_turns": "0", "finalize_timeout": "5", "stall_seconds": "0",
        "crash_resumes": "7", "session_memory_max_mb": "900", "session_pids_max": "64",
        "max_starts_per_hour": "0", "max_attempts": "8",
        "max_half_done": "9", "max_cost_per_ticket": "7.50", "max_review": "2",
        "capabilities": "GPU, chrome", "interval": "5", "parallel": "2",
        "stop_finish_seconds": "20", "hours": "Mon-Fri 18:00-08:00", "reserve": "100",
        "week_limit": "50", "quota_claude": "/bin/c3", "max_cost_per_day": "20",
        "guard": "off", "session_memory_mb": "900", "memory_headroom_percent": "20",
        "warmup_seconds": "60", "session_disk_mb": "0", "disk_headroom_percent": "5",
        "memory_limit_mb": "4096",
    }  # fmt: skip
    before = dataclasses.asdict(settings())[setting.part]
    after = dataclasses.asdict(settings({}, {setting.variable: samples[setting.name]}))
    assert after[setting.part] != before
    by_flag = settings({setting.name: samples[setting.name]})
    assert dataclasses.asdict(by_flag) == after


def test_a_token_file_is_looked_for_where_it_was_named() -> None:
    named = {"COLONY_TOKEN_FILE": "~/token", "COLONY_PERSON_TOKEN_FILE": "mine"}
    tracker = settings({}, named).tracker
    assert tracker.token_file == Path("/users/anna/token")
    assert tracker.person_token_file == MACHINE.cwd / "mine"


@pytest.mark.parametrize("text", ["8600", "127.0.0.1", ":86", "127.0.0.1:99999", "a b:1", "::1:1"])
def test_an_address_to_listen_on_needs_host_and_port(text: str) -> None:
    assert "address and a port" in refusal({"listen": text})


def test_no_two_settings_share_a_name() -> None:
    assert len(BY_NAME) == len(SETTINGS) == len({each.variable for each in SETTINGS})
    assert all(each.variable.startswith("COLONY_") and each.help for each in SETTINGS)


def test_words_with_commas_inside_brackets_stay_whole() -> None:
    found = settings({}, {"COLONY_ALLOWED_TOOLS": "Read, Bash(git log:*, git show:*) ,"})
    assert found.work.allowed_tools == ("Read", "Bash(git log:*, git show:*)")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"max_turns": "0"}, "--max-turns 0: must be 1 or more"),
        ({"max_turns": "many"}, "--max-turns many: must be a whole number"),
        ({"max_turns": "1e3"}, "--max-turns 1e3: must be a whole number"),
        ({"max_turns": "٣"}, "--max-turns ٣: must be a whole number"),
        ({"max_turns": "9" * 400}, "must be a whole number"),
        ({"max_review": "9" * 20}, "--max-review 99999999999999999999: must be 1000000 or less"),
        ({"timeout": "-5"}, "--timeout -5: must be 1 or more"),
        ({"timeout": "31536001"}, "--timeout 31536001: must be 31536000 or less"),
        (
            {"max_budget_usd": "nan"},
            "--max-budget-usd nan: must be dollars such as 20 or 7.50, above 0",
        ),
        (
            {"max_budget_usd": "inf"},
            "--max-budget-usd inf: must be dollars such as 20 or 7.50, above 0",
        ),
        (
            {"max_budget_usd": "0"},
            "--max-budget-usd 0: must be dollars such as 20 or 7.50, above 0",
        ),
        (
            {"max_cost_per_ticket": "0.00"},
            "--max-cost-per-ticket 0.00: must be dollars such as 20 or 7.50, above 0",
        ),
        ({"max_cost_per_ticket": "1e3"}, "must be dollars such as 20 or 7.50, above 0"),
        ({"max_cost_per_ticket": "0.005"}, "must be dollars such as 20 or 7.50, above 0"),
        ({"max_cost_per_ticket": "-5"}, "must be dollars such as 20 or 7.50, above 0"),
        ({"hours": "Mo 08:00-18:00"}, "--hours Mo 08:00-18:00: a day is one of Mon Tue Wed"),
        ({"hours": "Mon 08:00"}, "--hours Mon 08:00: must be days and times such as Mon-Fri"),
        ({"ports": "9-8"}, "--ports 9-8: must be a range of ports"),
        ({"ports": "0-70000"}, "--ports 0-70000: must be a range of ports"),
        ({"ports_per_session": "101"}, "--ports-per-session 101: must fit into the pool"),
        ({"permission_mode": "atuo"}, "--permission-mode atuo: must be one of auto"),
        ({"agent": "claud"}, "--agent claud: must be one of claude, stand-in (did you mean claude"),
        ({"model": ""}, "--model: must not be empty"),
        ({"model": "-x"}, "--model -x: must not begin with '-'"),
        ({"model": "a\nb"}, "--model a b: must be one line"),
        ({"heartbeat": "7200"}, "--heartbeat 7200: must be below the lease's 7200"),
        ({"home": ""}, "--home: must not be empty"),
    ],
)
def test_an_unusable_value_is_refused_by_name(flags: dict[str, str], told: str) -> None:
    assert told in refusal(flags)


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"COLONY_MAX_TURNS": ""}, "COLONY_MAX_TURNS: must be a whole number"),
        ({"COLONY_CREATOR_NAMES": " , "}, "COLONY_CREATOR_NAMES ,: must name at least one"),
        ({"COLONY_TZ": "Mars/Base"}, "COLONY_TZ Mars/Base: must be a time zone"),
        ({"COLONY_TZ": "../etc/passwd"}, "must be a time zone"),
        ({"COLONY_INBOX_PROJECT": "In Box"}, "COLONY_INBOX_PROJECT In Box: must be a name"),
        ({"COLONY_PASS_ENV": "COLONY_USER"}, "COLONY_USER is Colony's own"),
        ({"COLONY_SANDBOX": "no"}, "COLONY_SANDBOX no: must be one of on, off"),
        ({"COLONY_HOST": "a b"}, "COLONY_HOST a b: must be a name"),
        ({"COLONY_PROJECTS_DIR": ""}, "COLONY_PROJECTS_DIR: must not be empty"),
    ],
)
def test_an_unusable_variable_is_refused_by_name(environ: dict[str, str], told: str) -> None:
    assert told in refusal({}, environ)


def test_an_address_is_not_repeated_since_it_may_hold_a_password() -> None:
    told = refusal({}, {"COLONY_TICKETS_URL": "mysql://anna:secret@db"})
    assert told.startswith("COLONY_TICKETS_URL: must begin with sqlite:///")


def test_permissions_are_never_bypassed() -> None:
    with pytest.raises(Refused, match="bypassPermissions"):
        settings({"permission_mode": "bypassPermissions"})


def test_an_optional_value_may_be_empty() -> None:
    names = ("MAX_BUDGET_USD", "HEARTBEAT", "CONTROLLER_CLAUDE", "PERSON", "HOST", "PASS_ENV")
    found = settings({}, {f"COLONY_{name}": "" for name in names})
    assert found == settings()


def test_values_that_lean_on_others() -> None:
    assert settings({"lease_ttl": "100"}).lease.heartbeat == 50
    assert settings({"claude": "/bin/c"}).check.claude == "/bin/c"


def test_relative_paths_are_seen_from_the_current_folder() -> None:
    environ = {
        "COLONY_HOME": "h", "COLONY_RUNS_DIR": "r", "COLONY_CLAUDE": "bin/claude",
        "COLONY_STAND_IN_SCRIPT": "s.json",
    }  # fmt: skip
    found = settings({}, environ)
    assert found.place.home == Path("/work/h")
    assert found.place.projects_dir == Path("/work/h/projects")
    assert found.place.runs_dir == Path("/work/r")
    assert found.work.claude == "/work/bin/claude"
    assert found.work.stand_in_script == Path("/work/s.json")


@pytest.mark.parametrize(
    ("url", "absolute"),
    [
        ("sqlite:///x/t.db", "sqlite:////h/x/t.db"),
        ("sqlite:////var/t.db", "sqlite:////var/t.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("https://tickets.example/", "https://tickets.example/"),
        ("postgresql://db/x", "postgresql://db/x"),
    ],
)
def test_the_tracker_of_the_home(url: str, absolute: str) -> None:
    assert settings({"home": "/h"}, {"COLONY_TICKETS_URL": url}).tracker.url == absolute


def test_the_home() -> None:
    checkout = dataclasses.replace(MACHINE, checkout=Path("/src/colony"))
    assert find_home({}, {}, checkout) == Path("/src/colony")
    assert find_home({}, {"COLONY_HOME": "/a"}, checkout) == Path("/a")
    assert find_home({"home": "/b"}, {"COLONY_HOME": "/a"}, checkout) == Path("/b")
    assert find_home({}, {"XDG_STATE_HOME": "/x"}, MACHINE) == Path("/x/colony")
    assert find_home({}, {"XDG_STATE_HOME": "x"}, MACHINE) == HOME


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("COLONY_MODLE=x", f"{HOME}/.env:1: COLONY_MODLE is no setting (did you mean COLONY_MODEL"),
        ("#\nCOLONY_MAX_TURNS=0", f"{HOME}/.env:2: COLONY_MAX_TURNS 0: must be 1 or more"),
        ("COLONY_HOME=/x", f"{HOME}/.env:1: COLONY_HOME cannot be set here"),
        ("COLONY_SESSION=s", f"{HOME}/.env:1: COLONY_SESSION cannot be set here"),
        ("what", f"{HOME}/.env:1: not of the form NAME=value"),
    ],
)
def test_a_bad_env_file_is_named_with_its_line(text: str, told: str) -> None:
    assert refusal({}, {}, text).startswith(told)


def test_the_env_file_may_hold_what_is_not_colonys() -> None:
    assert settings({}, {}, "ANTHROPIC_API_KEY='x'\nPATH=/bin") == settings()


def test_unknown_variables_of_the_environment_are_told() -> None:
    environ = {"COLONY_MODLE": "x", "COLONY_SESSION": "s", "COLONY_DEBUG": "1", "PATH": "/bin"}
    assert unknown_variables(environ) == (
        "COLONY_MODLE is no setting (did you mean COLONY_MODEL?)",
    )
    assert unknown_variables({"COLONY_\x1b[31m": ""})[0].startswith("COLONY_\\x1b[31m is no")


@given(
    name=st.sampled_from(sorted(BY_NAME)),
    text=st.text(st.characters(exclude_characters="\0"), max_size=30),
)
def test_any_text_is_a_value_or_one_clear_line(name: str, text: str) -> None:
    try:
        settings({name: text})
    except ColonyError as error:
        assert error.exit_code in (2, 3)
        assert "\n" not in error.line


@pytest.mark.parametrize(
    ("flags", "environ", "env_text"),
    [
        ({"max_turns": "no"}, {}, ""),
        ({}, {"COLONY_MAX_TURNS": "no"}, ""),
        ({}, {}, "COLONY_MAX_TURNS=no\n"),
        ({}, {}, "no assignment\n"),
        ({}, {"COLONY_TZ": "X/Y"}, ""),
        ({}, {"COLONY_PERMISSION_MODE": "bypassPermissions"}, ""),
    ],
)
def test_a_listing_leaves_out_what_cannot_be_used(
    flags: dict[str, str], environ: dict[str, str], env_text: str
) -> None:
    found = listing(flags | {"model": "opus"}, environ, env_text, MACHINE)
    assert len(found.refusals) == 1
    expected = settings({"model": "opus"})
    assert found.settings == expected


def test_a_listing_refuses_what_read_refuses() -> None:
    """The first refusal of a listing is the line of `read`, word for word."""
    for environ in ({"COLONY_MAX_TURNS": "0"}, {"COLONY_HEARTBEAT": "9999"}, {"COLONY_HOME": ""}):
        [told] = listing({}, environ, "", MACHINE).refusals
        assert told == refusal({}, environ)


def test_settings_that_do_not_fit_each_other_even_as_defaults() -> None:
    found = listing({}, {"COLONY_PORT_POOL": "8700-8701"}, "", MACHINE)
    assert found.settings is None
    assert found.refusals == ("COLONY_PORTS_PER_SESSION 10: must fit into the pool 8700-8701",)


def test_a_listing_of_what_can_be_used_is_what_read_gives() -> None:
    environ = {"COLONY_MODEL": "opus", "COLONY_RUNS_DIR": "r", "COLONY_PERSON": "bo"}
    found = listing({}, environ, "COLONY_TZ=Europe/Vienna\n", MACHINE)
    assert found.refusals == ()
    assert found.settings == settings({}, environ, "COLONY_TZ=Europe/Vienna\n")


@pytest.mark.parametrize(
    "name", ["COLONY_TOKEN_FILE", "COLONY_PERSON_TOKEN_FILE", "COLONY_CREATOR_TOKEN_FILE"]
)
@pytest.mark.parametrize("before", ["", "Bearer ", "  '", 'bearer  "'])
def test_a_token_in_the_place_of_its_files_name_is_refused_and_not_shown(
    name: str, before: str
) -> None:
    given = f"{before}tkt_{'a1B' * 14}"
    assert refusal({}, {name: given}) == f"{name}: holds a token; it must name a file that holds it"
    for path in ("./tkt_mine", "/etc/tkt_mine", "~/.config/my-token"):
        settings({}, {name: path})


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_a_token_in_the_place_of_any_setting_is_not_shown(setting: Any) -> None:
    secret = "tkt_" + "a1B" * 14
    assert setting.shown(secret) == "set"
    try:
        settings({}, {setting.variable: secret})
    except ColonyError as problem:
        assert "a1B" not in problem.line
