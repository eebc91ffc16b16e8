"""Signs of a usage limit and times of reset, held against a corpus of literal texts."""

from __future__ import annotations

import inspect
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.coding import limits
from colony.coding.limits import ProgramError, RateEvent, limit_of
from colony.coding.resets import GRACE_MS, until_ms
from colony.coding.stream import read_turn

CORPUS = json.loads((Path(__file__).parents[1] / "corpus" / "limits.json").read_text("utf-8"))
VIENNA = ZoneInfo("Europe/Vienna")


def ms(iso: str) -> int:
    return int(datetime.fromisoformat(iso).timestamp() * 1000)


def result(text: str, *, failed: bool) -> str:
    event = {"type": "result", "subtype": "success", "is_error": failed, "result": text}
    return json.dumps(event)


def message(text: str, **more: Any) -> str:
    content = [{"type": "text", "text": text}]
    body = {"model": "claude-x", "content": content}
    return json.dumps({"type": "assistant", "message": body} | more)


def synthetic(text: str, now: str) -> str:
    body = {"model": "<synthetic>", "content": [{"type": "text", "text": text}]}
    event = {"type": "assistant", "message": body, "is_api_error_message": True}
    return json.dumps(event | {"timestamp": now})


def event(kind: str, **more: Any) -> str:
    return json.dumps({"type": kind} | more)


def failed_run(**more: Any) -> str:
    return event("result", is_error=True, subtype="error_max_turns", **more)


def foreign(text: str) -> dict[str, list[str]]:
    """The text where an agent only read or wrote it."""
    done = result("Done.", failed=False)
    tool = {"type": "tool_result", "tool_use_id": "t", "content": text}
    block = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}]}
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": text}}
    thought = {"type": "thinking", "thinking": text}
    retries = f"Failed to provide valid structured output — root: no such property '{text}'"
    told = synthetic(text, "2026-01-01T00:00:00Z")
    return {
        "prose": [message(text), result(text, failed=False)],
        "prose with an error": [message(text, error="rate_limit"), done],
        "prose beside a failed run": [message(text), failed_run(errors=["Reached maximum turns"])],
        "tool call": [event("assistant", message={"model": "claude-x", "content": [call]}), done],
        "tool output": [event("user", message={"content": [tool]}), done],
        "failed tool": [event("user", message={"content": [tool | {"is_error": True}]}), done],
        "tool block": [event("user", message={"content": [block]}, tool_use_result=text), done],
        "tool meta": [event("user", message={"content": []}, tool_use_result={"stderr": text})],
        "a transcript that was read": [
            event("user", message={"content": [tool | {"content": told}]}), done
        ],
        "prompt": [event("user", message={"content": text}), done],
        "prompt in the program's name": [
            event("user", message={"model": "<synthetic>", "content": text}, error="rate_limit"),
            done,
        ],
        "thinking": [event("assistant", message={"model": "m", "content": [thought]}), done],
        "part of a message": [event("stream_event", event={"delta": {"text": text}}), done],
        "structured answer": [event("result", structured_output={"result": text}, result=text)],
        "task": [event("system", subtype="task_notification", text=text, summary=text), done],
        "hook": [event("system", subtype="hook_response", output=text, stderr=text), done],
        "retry": [event("system", subtype="api_retry", error=text, error_status=529), done],
        "refused tool": [event("system", subtype="permission_denied", message=text), done],
        "unreadable": [text, text.encode("unicode_escape").decode()[:20]],
        "a failed run's denial": [
            failed_run(
                errors=["Reached maximum number of turns (3)"],
                permission_denials=[{"tool_name": text, "tool_input": {"command": text}}],
            )
        ],
        "a failed run's answer": [
            event("result", is_error=True, subtype="error_max_structured_output_retries",
                  errors=[retries, text])
        ],
    }  # fmt: skip


def test_corpus_score(capsys: pytest.CaptureFixture[str]) -> None:
    """Every limit is found with its time, as a result and as a message; nothing else is one."""
    missed, wrong, alarms = [], [], []
    for case in CORPUS["limit"]:
        text, now = case["text"], case["now"]
        found = [
            limit_of(ProgramError(text, at_ms=ms(now)), VIENNA),
            read_turn([synthetic(text, now)], VIENNA).limit,
            read_turn([synthetic(text, now), result(text, failed=True)], VIENNA).limit,
        ]
        for limit in found:
            if limit is None:
                missed.append(text)
            elif limit.until_ms != (case["until"] and ms(case["until"])):
                wrong.append((text, limit.until_ms, case["until"]))
    texts = [case["text"] for case in CORPUS["limit"]]
    assert (len(texts) >= 120, len(CORPUS["none"]) >= 100) == (True, True)
    tried = 0
    for text in CORPUS["none"]:
        tried += 1
        if limit_of(ProgramError(text), UTC) or read_turn([result(text, failed=True)], UTC).limit:
            alarms.append(text)
    for text in texts + CORPUS["none"]:
        for where, lines in foreign(text).items():
            tried += 1
            if read_turn(lines, UTC).limit is not None:
                alarms.append(f"{where}: {text}")
    with capsys.disabled():
        print(
            f"\nlimits corpus: {len(texts) - len(missed)} of {len(texts)} limits found,"
            f" {len(wrong)} wrong times, {len(alarms)} false alarms in {tried}"
        )
    assert (missed, wrong, alarms) == ([], [], [])


def test_detectors_cannot_be_given_anything_but_the_programs_own_signs() -> None:
    hints = inspect.get_annotations(limit_of, eval_str=True, globals=vars(limits))
    assert hints["sign"] == RateEvent | ProgramError
    assert {"text", "word", "status", "at_ms"} == set(ProgramError.__dataclass_fields__)


@pytest.mark.parametrize(
    ("sign", "is_limit"),
    [
        (RateEvent("rejected", "five_hour", 5), True),
        (RateEvent("rejected", on_overage=True), False),
        (RateEvent("allowed"), False),
        (RateEvent("allowed_warning", "five_hour", 5), False),
        (RateEvent(""), False),
        (ProgramError("", status=429), True),
        (ProgramError("", word="usage_limit_reached"), True),
        (ProgramError("", word="rate_limit"), True),
        (ProgramError("", word="overloaded", status=529), False),
        (ProgramError("", word="model_requires_usage_credits"), False),
    ],
)
def test_typed_signs(sign: RateEvent | ProgramError, is_limit: bool) -> None:
    assert (limit_of(sign, UTC) is not None) is is_limit


@pytest.mark.parametrize(
    ("text", "now", "until"),
    [
        # Past midnight, in the zone of the text and not in UTC.
        ("resets 12:20am (Europe/Vienna)", "2026-03-01T22:50:00Z", "2026-03-01T23:20:00Z"),
        ("resets 1am", "2026-03-01T23:30:00Z", "2026-03-02T00:00:00Z"),
        # Just over: the message was late, tomorrow is not meant.
        ("resets 5:07pm (UTC)", "2026-11-30T17:08:00Z", "2026-11-30T17:07:00Z"),
        # Over for longer than the grace: tomorrow.
        ("resets 5:07pm (UTC)", "2026-11-30T18:08:00Z", "2026-12-01T17:07:00Z"),
        # The night when 02:00 to 03:00 does not exist.
        ("resets 2:30am", "2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z"),
        ("resets 3:30am", "2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z"),
        # The night when 02:00 to 03:00 comes twice: the first, then the second.
        ("resets 2:30am", "2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z"),
        ("resets 2:30am", "2026-10-25T01:35:00Z", "2026-10-25T01:30:00Z"),
        ("resets 4am", "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z"),
        # Noon, midnight, 24 hours.
        ("resets 12pm (UTC)", "2026-06-01T06:00:00Z", "2026-06-01T12:00:00Z"),
        ("resets 12am (UTC)", "2026-06-01T06:00:00Z", "2026-06-02T00:00:00Z"),
        ("resets 23:15 UTC", "2026-06-01T06:00:00Z", "2026-06-01T23:15:00Z"),
        # Days.
        ("resets tomorrow at 3am (UTC)", "2026-06-01T06:00:00Z", "2026-06-02T03:00:00Z"),
        ("resets today, 3pm (UTC)", "2026-06-01T06:00:00Z", "2026-06-01T15:00:00Z"),
        ("resets Thursday 9am (UTC)", "2026-06-01T06:00:00Z", "2026-06-04T09:00:00Z"),
        ("resets Monday 5am (UTC)", "2026-06-01T06:30:00Z", "2026-06-08T05:00:00Z"),
        ("resets 31st December, 11pm (UTC)", "2026-12-01T06:00:00Z", "2026-12-31T23:00:00Z"),
        ("resets Feb 29, 1pm (UTC)", "2027-12-31T06:00:00Z", "2028-02-29T13:00:00Z"),
        ("resets Feb 30, 1pm (UTC)", "2026-01-01T06:00:00Z", None),
        ("resets Nonsense 3, 1pm (UTC)", "2026-01-01T06:00:00Z", None),
        # Zones.
        ("resets 3pm (PST)", "2026-01-01T06:00:00Z", "2026-01-01T23:00:00Z"),
        ("resets 3pm (UTC+05:30)", "2026-01-01T06:00:00Z", "2026-01-01T09:30:00Z"),
        ("resets 3pm (GMT-3)", "2026-01-01T06:00:00Z", "2026-01-01T18:00:00Z"),
        ("resets 3pm (../../etc/passwd)", "2026-01-01T06:00:00Z", None),
        # ISO.
        ("try again at 2026-01-01T09:00:00Z", "2026-01-01T06:00:00Z", "2026-01-01T09:00:00Z"),
        ("until 2026-01-01T09:00:00.123+02:00", "2026-01-01T06:00:00Z", "2026-01-01T07:00:00Z"),
        ("until 2026-13-01T09:00:00Z", "2026-01-01T06:00:00Z", None),
        # No time at all.
        ("resets soon", "2026-01-01T06:00:00Z", None),
        ("resets 5", "2026-01-01T06:00:00Z", None),
        ("resets 13pm", "2026-01-01T06:00:00Z", None),
        ("You've hit your 5-hour limit", "2026-01-01T06:00:00Z", None),
        ("|12", "2026-01-01T06:00:00Z", None),
        ("", "2026-01-01T06:00:00Z", None),
    ],
)
def test_reset_times(text: str, now: str, until: str | None) -> None:
    found = until_ms(text, ms(now), VIENNA)
    assert found == (None if until is None else ms(until))


@given(st.text(max_size=200), st.integers(1_000_000_000_000, 4_200_000_000_000))
def test_any_text_has_a_time_or_none(text: str, now: int) -> None:
    for phrase in (text, f"resets {text}", f"limit reached|{text}", f"resets at 5pm ({text})"):
        found = until_ms(phrase, now, VIENNA)
        assert found is None or isinstance(found, int)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(1_600_000_000_000, 1_900_000_000_000))
def test_a_stated_hour_is_its_next_return(hour: int, minute: int, now: int) -> None:
    """Whatever the night: that hour on the wall, within a day and a bit."""
    found = until_ms(f"resets {hour:02}:{minute:02} (Europe/Vienna)", now, UTC)
    assert found is not None
    assert now - GRACE_MS <= found <= now + 25 * 3_600_000
    wall = datetime.fromtimestamp(found / 1000, VIENNA)
    assert wall.minute == minute
    assert wall.hour == hour or (hour == 2 and wall.hour == 3)
