"""A part that goes on sends what the provider has already read, byte for byte: so it is cheap.

The real program moves its cache marks to the end; a text that stood in a list of one block for its
mark is then a plain string. The tokens are the same. Nothing else of the earlier request changes:
what it tells the model of the day, the folder and git is kept in the transcript.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Colony
from tests.acceptance.model import (
    Model,
    answer_schema,
    as_text,
    bash,
    report,
    texts,
    verdict,
    waiting,
)

pytestmark = pytest.mark.real_claude

CHANGES = [bash("echo 370 > total.txt; date +%N > changed.txt")]
"""What git shows is another thing from here on."""


def unmarked(value: Any) -> Any:
    """Without cache marks; a list of one text block as its text."""
    if isinstance(value, list):
        return [unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {key: unmarked(each) for key, each in value.items() if key != "cache_control"}
    match plain.get("content"):
        case [{"type": "text", "text": text, **more}] if not more:
            plain["content"] = text
    return plain


def bytes_of(value: Any) -> str:
    return json.dumps(unmarked(value))


def new_since(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that `after` has beyond `before`, of which everything else must stay."""
    for key in before.keys() | after.keys():
        if key != "messages":
            assert bytes_of(before.get(key)) == bytes_of(after.get(key)), key
    asked, goes_on = before["messages"], after["messages"]
    for number, (old, now) in enumerate(zip(asked, goes_on, strict=False)):
        assert bytes_of(old) == bytes_of(now), number
    return list(goes_on[len(asked) :])


def told(model: Model, words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last request before these words were said, and the first with them."""
    asked = model.requests("work")
    first = next(n for n, each in enumerate(asked) if words in texts(each["messages"]))
    return asked[first - 1], asked[first]


def test_the_step_that_asks_for_the_report(real: Colony, model: Model) -> None:
    model.plays("work", [bash("date"), *CHANGES, report()])
    model.plays("check", [verdict()])
    done = real("work", "shop", "1", "--post", "--max-turns", "2")
    assert done.code == 0, done
    assert [part["kind"] for part in real.record()["parts"]] == ["work", "finalize", "check"]
    before, after = told(model, "colony-finalize:")
    new = new_since(before, after)
    assert [each["role"] for each in new] == ["assistant", "user"]
    assert "STOP WORKING" in texts(new)
    assert "(Bash completed with no output)" in texts(new), "the last step's result is seen"


@pytest.mark.parametrize("given", ["refused", "words"])
def test_the_step_that_has_the_report_put_right(real: Colony, model: Model, given: str) -> None:
    """A report that does not hold, or none at all: asked for once more, and posted."""
    bad = (
        [report(test=["Open .scratch/total.txt.", "Read 370."])]
        if given == "refused"
        else [{"text": "All is done."}] * 2
    )
    model.plays("work", [*CHANGES, *bad, report()])
    model.plays("check", [verdict()])
    done = real("work", "shop", "1", "--post")
    assert done.code == 0, done
    assert [part["kind"] for part in real.record()["parts"]] == ["work", "fix", "check"]
    assert real.state() == "review"
    before, after = told(model, "colony-finalize:")
    new = new_since(before, after)
    assert "FIX YOUR REPORT" in texts(new)
    assert ("names .scratch" if given == "refused" else "There is no report") in texts(new[-1:])


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_session_that_is_taken_up(
    real: Colony, model: Model, tmp_path: Path, how: signal.Signals
) -> None:
    flag = real.project / "flag"
    model.plays("work", [*CHANGES, bash(waiting(flag)), *CHANGES * 2, report()])
    model.plays("check", [verdict()])
    process = real.hang(flag, "work", "shop", "1", "--post")
    real.remembers(str(flag))
    process.send_signal(how)
    process.communicate(timeout=30)
    done = real("work", "shop", "1", "--post")
    assert done.code == 0, done
    before, after = told(model, "# Go on with shop#1")
    new = new_since(before, after)
    assert as_text(new).count('"tool_use"') == 1, "the command that was running"
    assert answer_schema(before) == answer_schema(after)
