"""The reader of the stream-json dialect: real recordings, cut ones, hostile ones."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.coding.fields import parse_line
from colony.coding.stream import read_steps, read_turn
from colony.core.codec import from_json, to_json
from colony.core.endings import Ending, Exit
from colony.core.session import Ended, Facts, Runner, Setup, part_ended, part_started
from colony.core.strict_json import dump_json, load_json
from colony.core.ticket import Ref
from colony.core.turn import COUNT_MAX, Denial, Reading, Step, Turn, Usage

CORPUS = Path(__file__).parents[1] / "corpus" / "claude"


def recorded(name: str) -> list[str]:
    return (CORPUS / name).read_text(encoding="utf-8").splitlines()


def turn_of(*events: object) -> Turn:
    lines = [each if isinstance(each, str) else json.dumps(each) for each in events]
    return read_turn(lines, UTC)


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1} | fields


def assistant(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {"id": "m1", "model": "claude-opus-5-5", "content": list(blocks)} | fields
    return {"type": "assistant", "message": message}


# --- recordings ----------------------------------------------------------------------------


def test_the_answer_of_an_earlier_result_stands() -> None:
    """A background command gave the model one more turn after its answer."""
    turn = read_turn(recorded("background-two-results-stream.jsonl"), UTC)
    assert turn.has_structured
    assert turn.structured == {"status": "done", "summary": "first answer"}
    assert turn.agent_session == "9b81bc87-9ff2-4421-8aed-55f155797972"
    assert turn.total_cost_usd == 0.0032
    assert turn.usage == Usage(input_tokens=400, output_tokens=80)
    assert turn.turns == 5
    assert turn.models == ("claude-opus-5-5",)
    assert (turn.permission_mode, turn.version) == ("default", "2.1.328")
    assert turn.last_tool == "StructuredOutput"
    assert turn.unreadable == 0


def test_a_killed_run_has_no_answer_no_total_and_the_usage_that_was_streamed() -> None:
    turn = read_turn(recorded("sigterm-stream.jsonl"), UTC)
    assert not turn.finished
    assert turn.total_cost_usd is None
    assert turn.usage == Usage(input_tokens=100, output_tokens=1)
    assert turn.last_tool == "Bash"


def test_a_limit_keeps_the_exact_time_of_its_event() -> None:
    turn = read_turn(recorded("rate-limit-midway-stream.jsonl"), UTC)
    assert turn.limit is not None
    assert turn.limit.until_ms == 1_796_058_466_000
    assert turn.limit.window == "five_hour"
    assert turn.limit.text == "You've hit your 5-hour limit · resets 5:07pm (UTC)"


def test_a_limit_that_was_waited_out_is_none() -> None:
    assert read_turn(recorded("rate-limit-watchdog-stream.jsonl"), UTC).limit is None


def test_quota_readings_of_an_ordinary_run() -> None:
    turn = read_turn(recorded("rate-limit-warning-stream.jsonl"), UTC)
    assert turn.near_limit
    assert turn.limit is None
    assert turn.quota == (
        Reading("five_hour", 0.92, 1_796_056_662_000, "allowed_warning"),
        Reading("seven_day", 0.41, 1_796_304_862_000, "allowed"),
    )
    calm = read_turn(recorded("rate-limit-allowed-stream.jsonl"), UTC)
    assert not calm.near_limit
    assert [reading.used for reading in calm.quota] == [0.12, 0.41]


@pytest.mark.parametrize(
    ("told", "used"),
    [(0, 0.0), (0.5, 0.5), (1, 1.0), (1.07, 1.0), (2, 1.0), (2.1, None), (92, None), (-0.1, None),
     ("0.5", None), (True, None), (None, None)],
)  # fmt: skip
def test_a_used_share_is_from_nothing_to_all(told: Any, used: float | None) -> None:
    info = {"status": "allowed", "unifiedWindows": {"five_hour": {"utilization": told}}}
    (reading,) = turn_of({"type": "rate_limit_event", "rate_limit_info": info}).quota
    assert (reading.used, reading.kind) == (used, "session")


def test_a_denial_is_listed_once() -> None:
    turn = read_turn(recorded("auto-mode-unavailable-stream.jsonl"), UTC)
    assert turn.denials == (Denial("Bash", "touch /srv/outside-marker && id -u"),)
    assert turn.permission_mode == "auto"


def test_steps_in_order() -> None:
    steps = list(read_steps(recorded("non-utf8-stream.jsonl")))
    assert [(step.kind, step.tool) for step in steps] == [
        ("call", "Bash"),
        ("result", "Bash"),
        ("call", "Read"),
        ("result", "Read"),
        ("text", ""),
    ]
    assert steps[0].text.startswith("printf 'caf")
    assert steps[2].text == '{"file_path":"/srv/work/latin1.txt"}'
    assert steps[-1] == Step("text", "Both read.")


@pytest.mark.parametrize("name", ["background-two-results-stream.jsonl", "sigterm-stream.jsonl"])
def test_a_stream_cut_anywhere_gives_no_answer_that_was_not_given(name: str) -> None:
    text = "\n".join(recorded(name)) + "\n"
    whole = text.index('"structured_output":') if "structured_output" in text else len(text)
    answer_ends = text.index("\n", whole) if whole < len(text) else len(text) + 1
    for end in range(0, len(text), 53):
        cut = text[:end].splitlines()
        turn = read_turn(cut, UTC)
        assert turn.has_structured == (end >= answer_ends)
        assert turn.unreadable <= 1
        list(read_steps(cut))


# --- what decides --------------------------------------------------------------------------


def test_the_last_result_with_an_answer_wins() -> None:
    turn = turn_of(
        result(structured_output={"n": 1}, total_cost_usd=0.1),
        result(structured_output={"n": 2}, total_cost_usd=0.2),
        result(result="one more thing", total_cost_usd=0.3, is_error=True, api_error_status=529),
    )
    assert turn.structured == {"n": 2}
    assert not turn.is_error
    assert turn.total_cost_usd == 0.3
    assert turn.turns == 3


def test_without_an_answer_the_last_result_counts() -> None:
    turn = turn_of(result(result="a"), result(subtype="error_max_turns", is_error=True))
    assert (turn.subtype, turn.has_structured, turn.text) == ("error_max_turns", False, "")


def test_an_answer_that_is_null_is_none() -> None:
    assert not turn_of(result(structured_output=None)).has_structured


def test_an_empty_answer_is_one() -> None:
    assert turn_of(result(structured_output={})).has_structured


def test_the_tool_call_of_an_answer_is_no_answer() -> None:
    """The run was cut before its result: what it wanted to say is not known to be whole."""
    call = {"type": "tool_use", "id": "t", "name": "StructuredOutput", "input": {"done": True}}
    turn = turn_of(assistant(call))
    assert not turn.has_structured
    assert turn.last_tool == "StructuredOutput"


def test_usage_of_a_cut_run_counts_each_message_once() -> None:
    text = {"type": "text", "text": "a"}
    used = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 5}
    turn = turn_of(
        assistant(text, usage=used),
        assistant(text, usage=used | {"output_tokens": 4}),
        assistant(text, usage=used, id="m2"),
    )
    assert turn.usage == Usage(20, 5, 10, 0)


def test_an_error_message_of_a_cut_run_is_kept_until_the_model_answers_again() -> None:
    error = {
        "type": "assistant",
        "error": "overloaded",
        "api_error_status": 529,
        "is_api_error_message": True,
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "busy"}]},
    }
    cut = turn_of(assistant(), error)
    assert (cut.is_error, cut.api_status, cut.api_error, cut.text) == (
        True,
        529,
        "overloaded",
        "busy",
    )
    assert not turn_of(error, assistant()).is_error


def test_of_two_windows_the_later_reset_counts() -> None:
    def rejected(window: str, at: int) -> dict[str, Any]:
        info = {"status": "rejected", "rateLimitType": window, "resetsAt": at}
        return {"type": "rate_limit_event", "rate_limit_info": info}

    turn = turn_of(rejected("seven_day", 1_796_304_865), rejected("five_hour", 1_796_058_463))
    assert turn.limit is not None
    assert turn.limit.until_ms == 1_796_304_865_000


def test_a_time_from_a_typed_event_stands_against_one_read_in_a_text() -> None:
    info = {"status": "rejected", "rateLimitType": "five_hour", "resetsAt": 1_796_058_463}
    message = {"model": "<synthetic>", "content": "You've hit your limit · resets 11pm (UTC)"}
    said = {"type": "assistant", "error": "rate_limit", "timestamp": "2026-11-30T16:07:45Z"}
    event = {"type": "rate_limit_event", "rate_limit_info": info}
    turn = turn_of(event, said | {"message": message})
    assert turn.limit is not None
    assert turn.limit.until_ms == 1_796_058_463_000
    alone = turn_of(said | {"message": message})
    assert alone.limit is not None
    assert alone.limit.until_ms == 1_796_079_600_000


def test_the_prose_of_a_result_without_error_is_not_looked_into() -> None:
    prose = "You've hit your usage limit · resets 5pm"
    assert turn_of(result(result=prose, api_error_status=500)).limit is None
    assert turn_of(result(result=prose, api_error_status=429)).limit is not None
    assert turn_of(result(result=prose, api_error="usage_limit_reached")).limit is None
    assert turn_of(result(api_error_type="rate_limit_error")).api_error == ""


def test_a_permission_mode_that_fell_back_is_the_one_in_force() -> None:
    init = {"type": "system", "subtype": "init", "permissionMode": "default"}
    assert turn_of(init).permission_mode == "default"


# --- hostile -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no json",
        "[]",
        "[1,2]",
        '"text"',
        "null",
        '{"type":"result"',
        '{"type":"result","total_cost_usd":NaN}',
        '{"type":"result","total_cost_usd":Infinity}',
        '{"type":"result","total_cost_usd":1e999}',
        '{"type":"result","num_turns":' + "9" * 5000 + "}",
        '{"type":"result","num_turns":' + "9" * 40 + "}",
        '{"a":' * 5000 + "1" + "}" * 5000,
        "[" * 200_000,
        "\x00",
        "{'type': 'result'}",
    ],
)
def test_a_line_that_is_no_object_is_counted_and_left_out(line: str) -> None:
    turn = turn_of(line, result(structured_output={"n": 1}))
    assert turn.has_structured
    assert turn.unreadable == (1 if line else 0)
    assert turn.events == 1


WRONG: list[Any] = [None, True, 7, -1, 1.5, "text", [], {}, [None], {"a": 1}, [[["x"]]], "\ud800"]
FIELDS = [
    "type",
    "subtype",
    "is_error",
    "result",
    "structured_output",
    "num_turns",
    "total_cost_usd",
    "usage",
    "modelUsage",
    "permission_denials",
    "api_error_status",
    "api_error",
    "errors",
    "session_id",
    "rate_limit_info",
    "message",
    "timestamp",
    "error",
]
JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(WRONG),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(["system", "assistant", "user", "rate_limit_event", "result", "x"])


@given(st.lists(st.tuples(KINDS, st.dictionaries(st.sampled_from(FIELDS), JSONS)), max_size=5))
def test_known_places_may_hold_anything(events: list[tuple[str, dict[str, Any]]]) -> None:
    lines = [json.dumps(fields | {"type": kind}) for kind, fields in events]
    turn = read_turn(lines, UTC)
    assert turn.events + turn.unreadable == len(lines)
    json.dumps([str(turn.structured), turn.text, turn.api_error]).encode()
    for step in read_steps(lines):
        step.text.encode()


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_lines_can_be_read(lines: list[str]) -> None:
    assert not read_turn(lines, UTC).has_structured
    assert list(read_steps(lines)) == []


def test_a_line_of_a_megabyte_is_read() -> None:
    turn = turn_of(result(structured_output={"text": "x" * 1_500_000}))
    assert turn.has_structured
    assert len(turn_of(result(result="x" * 1_500_000)).text) == 4_000


def test_nul_and_lone_surrogates_become_replacement_characters() -> None:
    line = '{"type":"result","structured_output":{"a\\u0000":"half \\ud83d, whole \\ud83d\\ude00"}}'
    turn = turn_of(line)
    assert turn.structured == {"a\ufffd": "half \ufffd, whole \N{GRINNING FACE}"}


def test_times_out_of_all_reason_are_none() -> None:
    for at in (-1, 0, 5, 1e300, 2**62):
        info = {"status": "rejected", "resetsAt": at}
        turn = turn_of({"type": "rate_limit_event", "rate_limit_info": info})
        assert turn.limit is not None
        assert turn.limit.until_ms is None
    late = {"type": "assistant", "timestamp": "0001-01-01T00:00:00Z", "error": "rate_limit"}
    message = {"model": "<synthetic>", "content": "You've hit your limit · resets 5pm"}
    turn = turn_of(late | {"message": message})
    assert turn.limit is not None
    assert turn.limit.until_ms is None


def test_parse_line_gives_an_object_or_nothing() -> None:
    assert parse_line('{"a": [1, {"b": 2.5}]}') == {"a": [1, {"b": 2.5}]}
    assert parse_line("x" * (64 * 1024 * 1024 + 1)) is None


# --- what a session keeps of it ------------------------------------------------------------

RUNNER = Runner("claude", "claude", "sonnet", 40, 3600, "auto")
SETUP = Setup(RUNNER, RUNNER, "/dev/shop", (1, 2), "", False, 2, 7_200_000, 3_600_000, "on")
STARTED = part_started(Facts("s", Ref("shop", 1), "h", True, 0, SETUP), "work", "u", 0)
NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
COUNTED = st.fixed_dictionaries(
    {},
    optional={
        "num_turns": NUMBERS,
        "total_cost_usd": NUMBERS,
        "api_error_status": NUMBERS,
        "is_error": st.booleans(),
        "permissionMode": st.text(),
        "usage": st.dictionaries(
            st.sampled_from(
                [
                    "input_tokens",
                    "output_tokens",
                    "cache_read_input_tokens",
                    "cache_creation_input_tokens",
                ]
            ),
            NUMBERS,
        ),
        "modelUsage": st.dictionaries(st.text(), NUMBERS, max_size=3),
        "permission_denials": st.lists(
            st.fixed_dictionaries({"tool_name": st.text(), "tool_input": JSONS}), max_size=3
        ),
        "rate_limit_info": st.fixed_dictionaries(
            {"status": st.sampled_from(["rejected", "allowed"]), "resetsAt": NUMBERS}
        ),
    },
)


def kept(turn: Turn) -> Facts:
    """The facts of a session, from its file, after a run that said this."""
    facts = part_ended(STARTED, 1, Ended(turn, Exit(0), Ending.REPORT, None, 0))
    read = from_json(Facts, load_json(dump_json(to_json(facts))))  # type: ignore[arg-type]
    assert read == facts
    return read


@given(st.lists(st.tuples(KINDS, COUNTED), max_size=6))
def test_whatever_a_stream_says_the_record_can_be_read_again(
    events: list[tuple[str, dict[str, Any]]],
) -> None:
    init = {"type": "system", "subtype": "init"}
    kept(turn_of(*(fields | {"type": kind} for kind, fields in events)))
    kept(turn_of(*(fields | init for _, fields in events)))


def test_counts_have_a_limit_and_so_have_their_sums() -> None:
    used = {"input_tokens": 2**63, "output_tokens": -5}
    huge = result(num_turns=2**63, usage=used, api_error_status=-(2**63))
    turn = turn_of(*[huge] * 3)
    assert (turn.turns, turn.api_status) == (COUNT_MAX, -COUNT_MAX)
    assert turn.usage == Usage(input_tokens=COUNT_MAX)
    messages = [assistant(usage=used, id=f"m{at}") for at in range(3)]
    assert turn_of(*messages).usage == turn.usage


@pytest.mark.parametrize("cost", [-0.01, 1_000_000.01, 1e308, 2**63, True, "1"])
def test_a_cost_that_cannot_be_is_not_known(cost: object) -> None:
    turn = turn_of(result(total_cost_usd=cost))
    assert turn.total_cost_usd is None
    assert not kept(turn).parts[0].cost_known
    assert turn_of(result(total_cost_usd=1e6)).total_cost_usd == 1e6


def test_denials_without_end_fill_no_record() -> None:
    denied = [{"tool_name": "Bash", "tool_input": {"command": "x" * 999}} for _ in range(150)]
    part = kept(turn_of(result(permission_denials=denied))).parts[0]
    assert len(part.denials) == 101
    assert part.denials[-1] == "and 50 more"
    assert {len(each) for each in part.denials[:-1]} == {300}


def test_models_and_modes_without_end_fill_no_record() -> None:
    models: dict[str, Any] = {f"{at}-{'m' * 999}": {} for at in range(250)}
    init = {"type": "system", "subtype": "init", "permissionMode": "x" * 1_000_000}
    part = kept(turn_of(init, result(modelUsage=models))).parts[0]
    assert len(part.models) == 201
    assert part.models[-1] == "and 50 more"
    assert max(map(len, part.models)) == len(part.permission_mode) == 300
