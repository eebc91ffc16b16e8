"""A ticket from open to review, by the real Claude Code program as worker and as controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from colony.core.schema import compiled
from tests.acceptance.conftest import ROOT, Colony, git
from tests.acceptance.model import Model, as_text, bash, report, texts, verdict

pytestmark = pytest.mark.real_claude

DEAR = {"input_tokens": 200_000, "output_tokens": 30_000}
"""Tokens of one answer, so that a price is more than a cent."""
LOOK = "cat total.txt; cat /proc/[0-9]*/environ | tr '\\0' '\\n'"
"""What a curious worker finds in the environment of every process that it can see."""
CANARIES = {
    "GITHUB_TOKEN": "canary-of-a-forge",
    "AWS_SECRET_ACCESS_KEY": "canary-of-a-cloud",
    "COLONY_CREATOR_NAMES": "canary-of-a-setting",
    "CLAUDE_CODE_SESSION_ACCESS_TOKEN": "canary-of-an-outer-session",
}


def a_cycle(shop: Colony, model: Model) -> None:
    readme = str(shop.project / "README.md")
    model.plays(
        "work",
        [
            {"tool": "Write", "input": {"file_path": readme, "content": "total.txt is the sum\n"}},
            bash("awk '{sum += $2} END {print sum}' prices.txt > total.txt", usage=DEAR),
            bash("git add . && git -c user.name=w -c user.email=w@example.org commit -qm Total"),
            bash(LOOK),
            report(),
        ],
    )
    model.plays(
        "check",
        [
            {"tool": "Read", "input": {"file_path": readme}},
            bash("cat total.txt", usage=DEAR),
            verdict(),
        ],
    )


def test_a_cycle_ends_in_review_with_what_a_person_needs(real: Colony, model: Model) -> None:
    a_cycle(real, model)
    done = real("cycle", "--post", **CANARIES)
    assert done.code == 0, done
    [run] = real.runs

    # The tools really worked, and the second session really looked.
    assert (real.project / "total.txt").read_text() == "370\n"
    assert (real.project / "README.md").read_text() == "total.txt is the sum\n"
    assert git(real.project, "log", "-1", "--format=%an %s") == "w Total\n"
    seen = texts(model.requests("check")[-1]["messages"])
    assert "total.txt is the sum" in seen.rpartition("The shape of the verdict")[2]
    assert texts(model.requests("check")[-1]["messages"][-1:]).strip() == "370"

    # What a script reads.
    assert done.told("NEXT:") == ['NEXT: shop#1 "A total"']
    assert done.told("WORK") == ["WORK DONE — shop#1 is in review: its creator can try it"]
    assert done.told("VERDICT:") == ["VERDICT: PASS Held."]
    assert done.lines[-1] == "CYCLE END — shop#1: posted"
    record = real.record()
    worked, checked = (part["costUsd"] for part in record["parts"])
    whole = worked + checked
    assert done.told("CYCLE COST:") == [
        f"CYCLE COST: ${whole:.4f} (worker ${worked:.4f} + controller ${checked:.4f})"
    ]

    # What a person reads.
    assert real.state() == "review"
    comment = next(
        each["text"] for each in real.shown() if "colony-report:" in each.get("text", "")
    )
    sha256 = record["report"]["sha256"][:12]
    steps = record["parts"][0]["steps"]
    assert comment.splitlines() == [
        "The total of all prices is in a file.",
        "",
        "**Test:**",
        "1. Open total.txt in the shop's folder.",
        "2. Read 370.",
        "",
        f"${whole:.2f} · 2 sessions",
        "",
        f"colony-report: {run.name} · sha256 {sha256} · controller pass · cost {whole:.2f}"
        f" · steps {steps} · progress yes",
    ]
    assert whole > 0.01
    the_record_is_true(run, record)
    what_the_model_was_told(real, model)


def the_record_is_true(run: Path, record: dict[str, Any]) -> None:
    """`session.json` is of its schema, and its money is what the streams say."""
    path = ROOT / "templates" / "session.schema.json"
    assert compiled(json.loads(path.read_text()), path.name)(record) == ()
    for part in record["parts"]:
        stream = run / "parts" / f"{part['number']}-{part['kind']}" / "stream.jsonl"
        events = [json.loads(line) for line in stream.read_text().splitlines()]
        [result] = [event for event in events if event["type"] == "result"]
        assert part["costUsd"] == pytest.approx(result["total_cost_usd"])
        assert part["costKnown"]
        assert part["usage"]["inputTokens"] == sum(
            each["inputTokens"] for each in result["modelUsage"].values()
        )
        assert part["permissionMode"] == "acceptEdits"
    for path in (run, *run.rglob("*")):
        if not path.is_relative_to(run / "agent"):
            assert path.stat().st_mode & 0o077 == 0, path


def what_the_model_was_told(shop: Colony, model: Model) -> None:
    """The brief and nothing of Colony's own environment; no tool that asks a person."""
    prompt = model.prompt("work")
    [run] = shop.runs
    brief = (run / "brief.md").read_text()
    assert brief.strip() in prompt
    assert "Write the sum of all prices into `total.txt`." in brief
    assert str(shop.project / "CONCEPT.md") in brief
    assert "`CLAUDE.md` of the dev folder" in brief
    assert "Prices are whole cents, says the house rule." in brief
    asked = [*model.requests("work"), *model.requests("check")]
    for request in asked:
        offered = {tool["name"] for tool in request["tools"]}
        assert {"Bash", "Read", "StructuredOutput"} <= offered
        assert "AskUserQuestion" not in offered
    assert "Write" not in {tool["name"] for tool in model.requests("check")[0]["tools"]}
    said = as_text(asked)
    assert f"COLONY_SESSION={run.name}" in said, "the worker looked around"
    for value in CANARIES.values():
        assert value not in said
    assert {each["path"].split("?")[0] for each in model.stub.requests} <= {
        "/any",
        "/any/v1/messages",
    }


def test_a_controller_sends_a_lie_back(real: Colony, model: Model) -> None:
    """The real controller sees what the real worker did not do."""
    model.plays("work", [report()])
    lie = ("the total is 370", "false", "cat total.txt: No such file or directory")
    model.plays("check", [bash("cat total.txt"), verdict("pass", lie, summary="It is not there.")])
    done = real("cycle", "--post")
    assert done.code == 1, done
    assert "No such file" in texts(model.requests("check")[-1]["messages"][-1:])
    [told] = done.told("VERDICT: FAIL")
    assert "the controller said pass; code says fail" in told
    assert done.lines[-1] == "CYCLE END — shop#1: sent back"
    assert real.state() == "open"
    assert "Not shown" not in real.history()
    assert "Not true: the total is 370 — cat total.txt: No such file" in real.history()
