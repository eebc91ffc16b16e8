"""How parts end: the whole table, and what real streams of Claude Code mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.coding.stream import read_turn
from colony.core.endings import (
    BELONGS,
    BY_API_ERROR,
    BY_CAUSE,
    Cause,
    Ending,
    Exit,
    Known,
    ending_of,
    last_words,
    refusal_of,
)
from colony.core.turn import Limit, Turn, part_cost

CORPUS = Path(__file__).parents[1] / "corpus" / "claude"


def test_every_ending_belongs_to_one_owner() -> None:
    assert {str(ending): owner for ending, owner in BELONGS.items()} == {
        "report": "ticket",
        "no report": "ticket",
        "bad report": "ticket",
        "out of steps": "ticket",
        "out of time": "ticket",
        "stalled": "ticket",
        "out of budget": "ticket",
        "out of memory": "ticket",
        "too long": "ticket",
        "refused": "ticket",
        "limit": "account",
        "near limit": "account",
        "login": "account",
        "provider": "account",
        "model": "account",
        "no box": "host",
        "no room": "host",
        "no agent": "host",
        "disk": "host",
        "stopped": "ours",
        "killed": "ours",
        "crashed": "ours",
        "lease lost": "ours",
        "poisoned": "ours",
    }
    assert set(BELONGS) == set(Ending)


FIXTURES = {
    "api-timeout-stream.jsonl": (1, "provider"),
    "auto-mode-unavailable-stream.jsonl": (0, "no report"),
    "background-structured-lost.json": (0, "no report"),
    "background-two-results-stream.jsonl": (0, "report"),
    "bad-key.json": (1, "login"),
    "bash-timeout-to-background-stream.jsonl": (0, "no report"),
    "blocking-limit.json": (1, "too long"),
    "budget.json": (1, "out of budget"),
    "max-tokens.json": (1, "too long"),
    "max-turns-schema.json": (1, "out of steps"),
    "max-turns-verbose.json": (1, "out of steps"),
    "max-turns.json": (1, "out of steps"),
    "no-credit.json": (1, "limit"),
    "no-structured.json": (0, "no report"),
    "non-utf8-stream.jsonl": (0, "no report"),
    "not-logged-in.json": (1, "login"),
    "overloaded-stream.jsonl": (1, "provider"),
    "overloaded.json": (1, "provider"),
    "permission-denied.json": (0, "no report"),
    "prompt-too-long.json": (1, "too long"),
    "rate-429-retries-stream.jsonl": (1, "limit"),
    "rate-limit-allowed-stream.jsonl": (0, "no report"),
    "rate-limit-api-key.json": (1, "limit"),
    "rate-limit-api-key.jsonl": (1, "limit"),
    "rate-limit-midway-stream.jsonl": (1, "limit"),
    "rate-limit-stream.jsonl": (1, "limit"),
    "rate-limit-verbose.json": (1, "limit"),
    "rate-limit-warning-stream.jsonl": (0, "near limit"),
    "rate-limit-watchdog-stream.jsonl": (0, "no report"),
    "rate-limit-weekly-stream.jsonl": (1, "limit"),
    "rate-limit.json": (1, "limit"),
    "refusal.json": (1, "refused"),
    "resume-fork.json": (0, "no report"),
    "resume-unknown-stream.jsonl": (1, "poisoned"),
    "resume-unknown.stderr.txt": (1, "poisoned"),
    "resume.json": (0, "no report"),
    "server-error-stream.jsonl": (1, "provider"),
    "session-id-in-use.stderr.txt": (1, "poisoned"),
    "sigint.json": (0, "killed"),
    "sigterm-stream.jsonl": (143, "killed"),
    "structured-retries-exhausted.json": (1, "bad report"),
    "structured-second-try-verbose.json": (0, "report"),
    "structured.json": (0, "report"),
    "success-stream.jsonl": (0, "no report"),
    "success-verbose.json": (0, "no report"),
    "success.json": (0, "no report"),
    "unknown-model.json": (1, "model"),
    "unreachable.json": (1, "provider"),
    "usage-api-key.json": (0, "no report"),
    "usage-oauth-token.json": (0, "no report"),
    "usage-stored-login-unreachable.json": (0, "no report"),
    "usage-stored-login.json": (0, "no report"),
}
"""File -> (exit code as seen, ending)."""


def lines_of(path: Path) -> Iterator[str]:
    """A recorded output as a stream: `json --verbose` prints the same events as one list."""
    for line in path.read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        yield from (json.dumps(each) for each in value) if isinstance(value, list) else [line]


def test_every_recorded_output_is_in_the_table() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(FIXTURES)


@pytest.mark.parametrize("name", FIXTURES)
def test_recorded_output(name: str) -> None:
    code, ending = FIXTURES[name]
    path = CORPUS / name
    if path.suffix == ".txt":
        found = ending_of(Turn(), Exit(code), None, path.read_text(encoding="utf-8"))
    else:
        found = ending_of(read_turn(lines_of(path), UTC), Exit(code), None)
    assert found == ending


FINISHED = Turn(finished=True, subtype="success", models=("m",), turns=3)
ERROR = replace(FINISHED, is_error=True)
REPORT = replace(FINISHED, has_structured=True, structured={"result": "x"})
LIMITED = Limit("the usage limit is reached", 5)


@pytest.mark.parametrize("cause", [None, "time", "stop", "stall", "disk"])
@pytest.mark.parametrize(
    "turn",
    [
        REPORT,
        replace(REPORT, limit=LIMITED),
        replace(REPORT, is_error=True, api_status=500),
        replace(REPORT, near_limit=True),
    ],
)
def test_a_finished_report_is_never_thrown_away(turn: Turn, cause: Cause | None) -> None:
    known = Known(out_of_memory=True)
    assert ending_of(turn, Exit(signal=9), cause, "ENOSPC", known) == Ending.REPORT


def test_a_lost_lease_outranks_the_report() -> None:
    assert ending_of(REPORT, Exit(0), "lease") == Ending.LEASE_LOST


@pytest.mark.parametrize("cause", get_args(Cause))
def test_what_colony_ended_is_named_by_its_cause(cause: Cause) -> None:
    assert ending_of(Turn(), Exit(143), cause) == BY_CAUSE[cause]
    assert set(BY_CAUSE) == set(get_args(Cause))


@pytest.mark.parametrize(
    ("exit_", "ending"),
    [
        (Exit(143), "killed"),
        (Exit(137), "killed"),
        (Exit(130), "killed"),
        (Exit(129), "killed"),
        (Exit(signal=9), "killed"),
        (Exit(signal=15), "killed"),
        (Exit(signal=11), "crashed"),
        (Exit(134), "crashed"),
        (Exit(1), "crashed"),
        (Exit(), "crashed"),
        (Exit(0), "no report"),
        (Exit(127), "no box"),
        (Exit(126), "no box"),
    ],
)
def test_a_stream_without_a_result_is_judged_by_the_exit(exit_: Exit, ending: str) -> None:
    assert ending_of(Turn(), exit_, None) == ending


def test_a_command_not_found_after_events_is_no_missing_program() -> None:
    assert ending_of(Turn(events=3), Exit(127), None) == Ending.CRASHED


def test_the_kernels_kill_is_told_from_others_by_what_is_known() -> None:
    memory = Known(out_of_memory=True)
    assert ending_of(Turn(events=9), Exit(signal=9), None, known=memory) == Ending.OUT_OF_MEMORY
    # A command was taken, the agent went on and ended by itself.
    assert ending_of(FINISHED, Exit(0), None, known=memory) == Ending.NO_REPORT


@pytest.mark.parametrize(
    ("stderr", "ending"),
    [
        ("No conversation found with session ID: x", "poisoned"),
        ("Error: Session ID 928eaf74-d392-4b25-b3a6-56daebd54c8a is already in use.", "poisoned"),
        ("error: unknown option '--permission-prompts'", "no box"),
        ("--dangerously-skip-permissions cannot be used with root/sudo privileges", "no box"),
        ("Error: ENOSPC: no space left on device, write", "disk"),
        ("Not logged in · Please run /login", "login"),
        ("Error: --json-schema is not valid JSON: Unrecognized token", "crashed"),
        ("", "crashed"),
    ],
)
def test_start_up_errors(stderr: str, ending: str) -> None:
    assert ending_of(Turn(), Exit(1), None, stderr) == ending


def test_start_up_errors_say_nothing_once_a_model_answered() -> None:
    heard = Turn(models=("m",), events=5)
    assert ending_of(heard, Exit(1), None, "unknown option; not logged in") == Ending.CRASHED
    assert ending_of(heard, Exit(1), None, "ENOSPC: no space left on device") == Ending.DISK


@pytest.mark.parametrize(
    ("turn", "ending"),
    [
        (replace(ERROR, api_status=401), "login"),
        (replace(ERROR, api_status=403), "login"),
        (replace(ERROR, api_status=404), "model"),
        (replace(ERROR, api_status=413), "too long"),
        (replace(ERROR, api_status=500), "provider"),
        (replace(ERROR, api_status=529), "provider"),
        (replace(ERROR, api_status=418), "crashed"),
        (replace(ERROR, api_error="stored_login_refused"), "login"),
        (replace(ERROR, api_error="model_requires_usage_credits", api_status=429), "model"),
        (replace(ERROR, api_error="claude_code_version_too_old"), "no box"),
        (replace(ERROR, api_error="brand_new_word", api_status=503), "provider"),
        (replace(ERROR, text="Please run /login · API Error: OAuth token has expired"), "login"),
        (replace(ERROR, text="API Error: Connection error."), "provider"),
        (replace(ERROR, text="something nobody knows"), "crashed"),
        (replace(ERROR, subtype="error_during_execution"), "crashed"),
        (replace(ERROR, limit=LIMITED, api_status=500), "limit"),
        (replace(FINISHED, limit=LIMITED), "limit"),
        (replace(FINISHED, near_limit=True), "near limit"),
        (replace(FINISHED, text="You've hit your limit · please run /login"), "no report"),
        (replace(ERROR, terminal_reason="rapid_refill_breaker"), "too long"),
        (replace(ERROR, terminal_reason="a_new_reason"), "crashed"),
        (Turn(events=4, models=("m",), limit=LIMITED), "limit"),
        (Turn(events=4, models=("m",), is_error=True, api_status=529), "provider"),
    ],
)
def test_results(turn: Turn, ending: str) -> None:
    assert ending_of(turn, Exit(1 if turn.is_error else 0), None) == ending


NOISE = "Warning: old\n  the model is not there  \n\n"


@pytest.mark.parametrize(
    ("turn", "ending", "said"),
    [
        (Turn(), "crashed", "  the model is not there  "),
        (Turn(events=3), "no box", "  the model is not there  "),
        (Turn(), "no report", "  the model is not there  "),
        (Turn(events=3), "no report", ""),
        (Turn(events=3), "out of steps", ""),
        (Turn(is_error=True, text="API Error: 400"), "crashed", "API Error: 400"),
        (Turn(is_error=True, text="API Error: 529"), "provider", "API Error: 529"),
        (Turn(is_error=True, text=" "), "crashed", "  the model is not there  "),
        (Turn(has_structured=True, is_error=True, text="late"), "report", ""),
    ],
)
def test_what_the_program_said_of_its_end(turn: Turn, ending: str, said: str) -> None:
    assert last_words(turn, Ending(ending), NOISE) == said
    assert last_words(Turn(), Ending.CRASHED, " \n") == ""


def test_the_same_refusal_after_a_resume_is_poison() -> None:
    refused = replace(ERROR, api_status=400, text="API Error: 400 no low surrogate in string")
    first = ending_of(refused, Exit(1), None)
    again = ending_of(refused, Exit(1), None, known=Known(refused_before=refusal_of(refused)))
    other = ending_of(refused, Exit(1), None, known=Known(refused_before="another text"))
    assert (first, again, other) == (Ending.CRASHED, Ending.POISONED, Ending.CRASHED)
    assert refusal_of(replace(refused, api_status=500)) == ""
    assert refusal_of(replace(refused, is_error=False)) == ""


def test_every_known_word_of_the_provider_is_placed() -> None:
    words = """usage_limit_reached model_requires_usage_credits stored_login_refused
        connection_failed stream_idle_timeout claude_code_version_too_old org_disabled_credential
        no_response authentication_failed oauth_org_not_allowed account_on_hold
        verification_required billing_error rate_limit overloaded model_not_found server_error
        max_output_tokens cloud_credential_error"""
    assert set(words.split()) <= set(BY_API_ERROR)


TURNS = st.builds(
    Turn,
    finished=st.booleans(),
    is_error=st.booleans(),
    subtype=st.sampled_from(["", "success", "error_max_turns", "x"]),
    terminal_reason=st.sampled_from(["", "completed", "api_error", "max_turns", "x"]),
    api_status=st.none() | st.integers(-5, 700),
    api_error=st.sampled_from(["", "x", *BY_API_ERROR]),
    text=st.text(max_size=20),
    has_structured=st.booleans(),
    limit=st.none() | st.just(LIMITED),
    near_limit=st.booleans(),
    events=st.integers(0, 3),
)


@given(
    TURNS,
    st.builds(Exit, st.none() | st.integers(-300, 300), st.none() | st.integers(1, 64)),
    st.none() | st.sampled_from(get_args(Cause)),
    st.text(max_size=30),
    st.builds(Known, st.booleans(), st.text(max_size=5)),
)
def test_every_end_has_a_name(
    turn: Turn, exit_: Exit, cause: Cause | None, stderr: str, known: Known
) -> None:
    ending = ending_of(turn, exit_, cause, stderr, known)
    assert ending in BELONGS
    if turn.has_structured:
        assert ending in (Ending.REPORT, Ending.LEASE_LOST)
    else:
        assert ending != Ending.REPORT


def test_cost_of_a_resumed_part() -> None:
    assert part_cost(Turn(total_cost_usd=0.75), 0.25) == 0.5
    assert part_cost(Turn(), 0.25) is None
    assert part_cost(Turn(total_cost_usd=0.1), 0.25) == 0.0
