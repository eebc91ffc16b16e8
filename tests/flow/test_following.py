"""What a person who waits is told while a part runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from colony.cli.live import told
from colony.coding.stand_in.agent import StandIn
from colony.flow.following import Doing, Follower, Tail
from colony.host import streams
from colony.host.streams import new_lines


def message(*blocks: dict[str, object]) -> str:
    return json.dumps({"type": "assistant", "message": {"content": list(blocks)}}) + "\n"


def call(name: str, **given: str) -> dict[str, object]:
    return {"type": "tool_use", "id": "t", "name": name, "input": given}


def test_a_growing_stream_is_read_once(tmp_path: Path) -> None:
    stream = tmp_path / "stream.jsonl"
    follower = Follower(StandIn(), stream)
    follower.look()
    assert (follower.calls, follower.last) == (0, "")
    stream.write_text(message({"type": "text", "text": "I look around."}))
    follower.look()
    assert (follower.calls, follower.last) == (0, "I look around.")
    with stream.open("a") as file:
        file.write(message(call("Bash", command="ls -l")) + '{"half of a')
    follower.look()
    follower.look()
    assert follower.calls == 1
    assert follower.last.startswith("Bash")
    assert "ls -l" in follower.last


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_is_no_stream_tells_nothing(tmp_path: Path, kind: str) -> None:
    stream = tmp_path / "stream.jsonl"
    if kind == "link":
        stream.symlink_to("/etc/passwd")
    else:
        stream.mkdir()
    follower = Follower(StandIn(), stream)
    follower.look()
    assert (follower.calls, follower.last) == (0, "")


def test_a_line_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CHUNK", 8)
    file = tmp_path / "s"
    file.write_text("0123456789ab\nx\n")
    lines, at = new_lines(file, 0)
    assert (lines, at) == ((), 8)
    lines, at = new_lines(file, at)
    assert lines == ("89ab", "x")
    assert new_lines(file, at) == ((), at)


def test_the_words_of_the_live_line() -> None:
    doing = Doing("shop#1 work", 75, 1, "Bash ls [red]", 0.0)
    assert told(doing) == "shop#1 work · 1:15 · 1 tool call · Bash ls [red]"
    assert told(Doing("shop#1 check", 5, 0, "", 1.234)) == (
        "shop#1 check · 0:05 · 0 tool calls · $1.23 before"
    )


def test_a_line_may_hold_any_character_but_its_end(tmp_path: Path) -> None:
    file = tmp_path / "s"
    file.write_text('{"a": "x\u2028y\x85z"}\n\nlast\n')
    assert new_lines(file, 0)[0] == ('{"a": "x\u2028y\x85z"}', "", "last")


def test_a_secret_is_masked_before_anything_is_cut(tmp_path: Path) -> None:
    """What is left of one that was cut in two would be shown."""
    stream = tmp_path / "stream.jsonl"
    stream.write_text(message(call("Bash", command="x" * 50 + "sesame-street")))
    tail = Tail()
    follower = Follower(StandIn(), stream, {"DOOR": "sesame-street"}, tail)
    follower.look()
    assert "sesa" not in follower.last
    assert follower.last == follower.last_call
    assert tail.text == "Bash " + "x" * 50 + "[DOOR]\n"


def test_what_tools_answer_is_not_in_the_tail(tmp_path: Path) -> None:
    stream = tmp_path / "stream.jsonl"
    answer = {"type": "tool_result", "tool_use_id": "t", "content": "a whole file"}
    user = json.dumps({"type": "user", "message": {"content": [answer]}}) + "\n"
    stream.write_text(message({"type": "text", "text": "I read\nit."}) + user)
    tail = Tail()
    Follower(StandIn(), stream, tail=tail).look()
    assert tail.text == "I read it.\n"


def test_only_what_the_model_says_is_an_answer(tmp_path: Path) -> None:
    """An error of the program has the form of an answer; taken for one, it would free an account
    that has just been refused."""
    stream = tmp_path / "stream.jsonl"
    words = {"type": "text", "text": "You've hit your limit"}
    error = {"type": "assistant", "message": {"model": "<synthetic>", "content": [words]}}
    stream.write_text(json.dumps(error) + "\n")
    follower = Follower(StandIn(), stream)
    follower.look()
    assert (follower.last, follower.answered) == ("You've hit your limit", False)
    with stream.open("a") as file:
        file.write(message(call("Bash", command="ls")))
    follower.look()
    assert follower.answered
