"""The scripted stand-in, run as the real process it is."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from colony.coding.protocol import CodingAgent, PartFolders, PartOrder
from colony.coding.quota import NOT_FETCHED, NOT_READ
from colony.coding.stand_in.actions import PLAYS
from colony.coding.stand_in.agent import StandIn
from colony.coding.stand_in.script import ACTIONS
from colony.core.endings import Ending, Exit, ending_of
from colony.core.turn import QuotaAnswer, Turn
from colony.errors import Refused

TEMPLATES = Path(__file__).parents[2] / "templates"
REPORT = (TEMPLATES / "report.schema.json").read_text("utf-8")
VERDICT = (TEMPLATES / "verdict.schema.json").read_text("utf-8")
PAGE = (TEMPLATES.parent / "docs" / "stand-in.md").read_text("utf-8")
PROMPT = "# Ticket shop#3\n\nSession s-20260101T1200-abcdef, about other#9.\n"


@dataclass
class Ended:
    turn: Turn
    exit: Exit
    stderr: str
    lines: list[str]

    @property
    def ending(self) -> Ending:
        return ending_of(self.turn, self.exit, None, self.stderr)


@dataclass
class Desk:
    """A dev folder, an agent's folder and a way to run the stand-in there."""

    folder: Path

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def start(self, script: Any, prompt: str, **changes: Any) -> subprocess.Popen[str]:
        path = None
        if script is not None:
            path = self.folder / "script.json"
            path.write_text(script if isinstance(script, str) else json.dumps(script))
        fields: dict[str, Any] = {
            "schema": REPORT,
            "agent_session": str(uuid.uuid4()),
            "resume": False,
            "model": "sonnet",
            "max_turns": 40,
            "permission_mode": "auto",
        }
        self.order = PartOrder(**(fields | changes))
        agent: CodingAgent = StandIn(path)
        call = agent.invocation(self.order, PartFolders(self.folder, self.folder), {})
        (self.folder / "prompt").write_text(prompt)
        with (self.folder / "prompt").open() as stdin:
            return subprocess.Popen(
                call.argv, env={**call.env, "PATH": os.defpath}, cwd=self.work, stdin=stdin,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip

    def end(self, process: subprocess.Popen[str]) -> Ended:
        out, err = process.communicate(timeout=60)
        code = process.returncode
        exit_ = Exit(code=code) if code >= 0 else Exit(signal=-code)
        return Ended(StandIn().read(out.splitlines()), exit_, err, out.splitlines())

    def run(self, script: Any = None, prompt: str = PROMPT, **changes: Any) -> Ended:
        return self.end(self.start(script, prompt, **changes))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "work").mkdir()
    yield Desk(tmp_path)


def valid(answer: Any, schema: str) -> dict[str, Any]:
    jsonschema.Draft202012Validator(json.loads(schema)).validate(answer)
    assert isinstance(answer, dict)
    return answer


def test_without_a_script_it_does_a_small_job_and_says_what_it_is(desk: Desk) -> None:
    ended = desk.run()
    report = valid(ended.turn.structured, REPORT)
    assert (report["ticket"], report["session"]) == ("shop#3", "s-20260101T1200-abcdef")
    note = (desk.work / "stand-in-shop-3.md").read_text()
    assert report["verified"][0]["output"] == note
    assert ended.ending == Ending.REPORT
    assert ended.turn.models == ("stand-in",)
    assert ended.turn.version == "stand-in"
    assert "not by a model" in report["result"]
    assert ended.stderr == ""


def test_its_check_runs_the_reports_commands_again(desk: Desk) -> None:
    report = desk.run().turn.structured
    prompt = f"# Check shop#3 of s-20260101T1200-abcdef\n```json\n{json.dumps(report)}\n```\n"
    honest = desk.run(prompt=prompt, schema=VERDICT)
    assert valid(honest.turn.structured, VERDICT)["verdict"] == "pass"
    (desk.work / "stand-in-shop-3.md").write_text("changed meanwhile")
    caught = desk.run(prompt=prompt, schema=VERDICT)
    verdict = valid(caught.turn.structured, VERDICT)
    assert verdict["verdict"] == "fail"
    assert verdict["findings"][0]["status"] == "false"
    nothing = desk.run(prompt=PROMPT + "no report here", schema=VERDICT)
    assert valid(nothing.turn.structured, VERDICT)["findings"][0]["status"] == "no evidence"


@pytest.mark.parametrize("prompt", ["# FIX YOUR REPORT\n", "write it now\ncolony-finalize: s-1\n"])
def test_cut_short_it_reports_that_nothing_is_done(desk: Desk, prompt: str) -> None:
    report = valid(desk.run(prompt=PROMPT + prompt).turn.structured, REPORT)
    assert report["complete"] is False


def test_each_ticket_and_kind_may_have_its_own_script(desk: Desk) -> None:
    script = {
        "work": [{"answer": {"result": "any"}}],
        "fix": [{"answer": {"result": "fixed"}}],
        "tickets": {"shop#3": {"work": [{"answer": {"result": "the third"}}]}},
    }

    def result(prompt: str) -> Any:
        structured = desk.run(script, prompt).turn.structured
        return structured["result"] if isinstance(structured, dict) else None

    assert result(PROMPT) == "the third"
    assert result("Ticket: shop#4") == "any"
    assert result(PROMPT + "FIX YOUR REPORT") == "fixed"


def test_actions_are_real(desk: Desk) -> None:
    script = {
        "work": [
            {"say": "on {ticket}"},
            {"write": "deep/a.txt", "text": "one\n"},
            {"run": "cat deep/a.txt; echo two >&2; exit 3"},
            {"when": "other#9", "then": [{"run": "echo yes > when"}]},
            {"repeat": 2, "actions": [{"run": "echo x >> twice"}]},
            {"deny": "Bash", "detail": "rm -rf /"},
            {"exactly": {"got": "{output}", "files": "{files}", "odd": "{unknown}"}},
        ]
    }
    ended = desk.run(script)
    assert ended.turn.structured == {"got": "", "files": "deep/a.txt", "odd": "{unknown}"}
    assert (desk.work / "when").read_text() == "yes\n"
    assert (desk.work / "twice").read_text() == "x\nx\n"
    assert [(denial.tool, denial.detail) for denial in ended.turn.denials] == [("Bash", "rm -rf /")]
    steps = list(StandIn().steps(ended.lines))
    assert steps[0].text == "on shop#3"
    assert steps[4].text == "Exit code 3\none\ntwo\n"


def test_a_daemon_outlives_it(desk: Desk) -> None:
    os.mkfifo(desk.work / "fifo")
    ended = desk.run({"work": [{"daemon": "exec cat fifo"}, {"answer": {}}]})
    assert ended.ending == Ending.REPORT
    said = next(step.text for step in StandIn().steps(ended.lines) if step.kind == "result")
    pid = int(said.rsplit(" ", 1)[1])
    os.kill(pid, 0)
    assert os.getsid(pid) == pid
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("actions", "ending", "code"),
    [
        ([{"limit": "five_hour", "reset_in": 600}], "limit", 1),
        ([{"error": "API Error: busy", "status": 529, "word": "overloaded_error"}], "provider", 1),
        ([{"limit": "seven_day", "reset_in": None}], "limit", 1),
        ([{"quota": {"five_hour": 0.9}}, {"answer": {}}], "report", 0),
        ([{"quota": {"five_hour": 0.97}, "warn": True}, {"say": "I stop here."}], "near limit", 0),
        ([{"refused": True}], "login", 1),
        ([{"away": True}], "provider", 1),
        ([{"error": "Not logged in · Please run /login"}], "login", 1),
        ([{"result": {"is_error": True, "subtype": "error_max_budget_usd"}, "exit": 1}],
         "out of budget", 1),
        ([{"exit": 7}], "crashed", 7),
        ([{"exit": 0}], "no report", 0),
        ([{"say": "I am done."}], "no report", 0),
        ([{"raw": "no json {"}, {"sleep": 0.01}, {"answer": {}}], "report", 0),
        ([{"repeat": 99, "actions": [{"say": "again"}]}], "out of steps", 1),
        ([{"run": "kill -9 $PPID"}, {"hang": True}], "killed", -9),
    ],
)  # fmt: skip
def test_ends(desk: Desk, actions: list[Any], ending: str, code: int) -> None:
    ended = desk.run({"work": actions}, max_turns=5)
    assert ended.ending == ending
    assert ended.exit == (Exit(code=code) if code >= 0 else Exit(signal=-code))


def test_a_limit_tells_its_reset(desk: Desk) -> None:
    limit = desk.run({"work": [{"limit": "seven_day", "reset_in": 600}]}).turn.limit
    assert limit is not None
    assert limit.window == "seven_day"
    assert limit.until_ms is not None
    untold = desk.run({"work": [{"limit": "five_hour", "reset_in": None}]}).turn.limit
    assert untold is not None
    assert (untold.window, untold.until_ms) == ("five_hour", None)


def test_a_run_tells_how_full_its_account_is(desk: Desk) -> None:
    shares = {"five_hour": 0.25, "seven_day": 1}
    script = {"work": [{"quota": shares, "reset_in": 60}, {"answer": {}}]}
    turn = desk.run(script).turn
    assert [(each.kind, each.used) for each in turn.quota] == [("session", 0.25), ("week", 1.0)]
    assert all(each.resets_ms for each in turn.quota)
    assert not turn.near_limit
    untold = desk.run({"work": [{"quota": shares, "reset_in": None, "warn": True}]}).turn
    assert [each.resets_ms for each in untold.quota] == [None, None]
    assert untold.near_limit


# --- the account -----------------------------------------------------------------------------


def asked(desk: Desk, script: Any) -> QuotaAnswer | None:
    """What a quota call of this script tells; None: there is none to make."""
    path = desk.folder / "script.json"
    path.write_text(json.dumps(script))
    agent: CodingAgent = StandIn(path)
    call = agent.quota_call({})
    if call is None:
        return None
    done = subprocess.run(
        call.argv, env=dict(call.env), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, cwd=desk.work,
    )  # fmt: skip
    assert done.stderr == ""
    return agent.read_quota(done.stdout)


def test_a_quota_call_tells_what_the_script_says(desk: Desk) -> None:
    answer = asked(desk, {"usage": {"session": 0.29, "week": 1, "reset_in": 90}})
    assert answer is not None
    told = [(each.window, each.kind, each.used) for each in answer.readings]
    assert told == [("session", "session", 0.29), ("weekly_all", "week", 1.0)]
    assert len({each.resets_ms for each in answer.readings} - {None}) == 1
    assert (answer.cost_usd, answer.problem) == (0, "")
    untold = asked(desk, {"usage": {"week": 0, "reset_in": None, "cost": 0.02}})
    assert untold is not None
    assert [(each.used, each.resets_ms) for each in untold.readings] == [(0.0, None)]
    assert untold.cost_usd == 0.02


@pytest.mark.parametrize(
    ("usage", "problem"),
    [
        (None, NOT_FETCHED),
        ({}, NOT_READ),
        ({"error": "Not logged in"}, "the quota call failed: Not logged in"),
    ],
)
def test_a_quota_call_can_bring_nothing(desk: Desk, usage: Any, problem: str) -> None:
    assert asked(desk, {"usage": usage}) == QuotaAnswer(problem=problem)


def test_without_a_word_of_usage_there_is_no_quota_call(desk: Desk) -> None:
    assert asked(desk, {}) is None
    assert asked(desk, {"work": []}) is None
    assert StandIn().quota_call({}) is None
    assert asked(desk, {"usage": {"session": 7}}) is None, "no script that could be played"


def test_a_script_names_its_account_and_its_login(desk: Desk) -> None:
    path = desk.folder / "script.json"
    agent: CodingAgent = StandIn(path)
    assert (agent.account({}), agent.login_mark({})) == ("", "")
    path.write_text(json.dumps({"account": "of the demo", "login": "first"}))
    assert agent.account({}) == "stand-in of the demo"
    first = agent.login_mark({})
    assert set(first) <= set("0123456789abcdef")
    assert first == agent.login_mark({})
    path.write_text(json.dumps({"account": "of the demo", "login": "second"}))
    assert agent.login_mark({}) not in (first, "")
    assert agent.account({}) == "stand-in of the demo"
    path.write_text("{}")
    assert (agent.account({}), agent.login_mark({})) == ("", "")


def test_a_resumed_session_goes_on_counting(desk: Desk) -> None:
    script = {"cost": 0.25, "work": [{"say": "a"}], "resume": [{"say": "b"}, {"answer": {}}]}
    first = desk.run(script)
    again = desk.run(
        script, "go on", agent_session=desk.order.agent_session, resume=True, max_turns=9
    )
    assert (first.turn.total_cost_usd, again.turn.total_cost_usd) == (0.25, 0.75)
    assert (first.turn.turns, again.turn.turns) == (1, 2)
    assert again.turn.usage.input_tokens == 200
    assert isinstance(again.turn.structured, dict)
    assert again.turn.structured["ticket"] == "shop#3"


def test_sessions_are_known_or_not(desk: Desk) -> None:
    first = desk.run()
    assert first.ending == Ending.REPORT
    used = desk.run(agent_session=desk.order.agent_session)
    assert "is already in use" in used.stderr
    assert used.ending == Ending.POISONED
    unknown = desk.run(agent_session=str(uuid.uuid4()), resume=True)
    assert "No conversation found" in unknown.stderr
    assert unknown.ending == Ending.POISONED


def read_until(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if word in line:
            return lines
    raise AssertionError(f"{word} was never printed")


def test_sigterm_ends_its_command_and_keeps_the_session(desk: Desk) -> None:
    script = {"work": [{"run": "echo $$ > pid; exec sleep 600"}], "resume": [{"answer": {}}]}
    process = desk.start(script, PROMPT)
    lines = read_until(process, '"tool_use"')
    while not (desk.work / "pid").exists() or not (desk.work / "pid").read_text().strip():
        os.sched_yield()
    command = int((desk.work / "pid").read_text())
    descriptor = os.pidfd_open(command)
    process.send_signal(signal.SIGTERM)
    ended = desk.end(process)
    assert ended.exit == Exit(code=143)
    assert StandIn().read(lines).total_cost_usd is None
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    assert poller.poll(10_000), "the command outlived the stand-in"
    os.close(descriptor)
    again = desk.run(script, "go on", agent_session=desk.order.agent_session, resume=True)
    assert again.ending == Ending.REPORT


def test_it_can_ignore_sigterm(desk: Desk) -> None:
    process = desk.start({"work": [{"ignore_term": True}, {"say": "here"}, {"hang": True}]}, PROMPT)
    read_until(process, "here")
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.2)
    process.kill()
    assert desk.end(process).exit == Exit(signal=9)


@pytest.mark.parametrize(
    "script",
    [
        "no json",
        "[]",
        "7",
        {"work": [{"dance": True}]},
        {"work": [{"say": "a", "run": "b"}]},
        {"work": ["say"]},
        {"work": [{"when": "x", "then": [{}]}]},
        {"work": 7},
        {"tickets": []},
        {"account": 7},
        {"login": ["x"]},
        {"usage": 7},
        {"usage": {"session": 1.5}},
        {"usage": {"session": "0.5"}},
        {"usage": {"month": 0.5}},
        {"tickets": {"shop#3": {"check": [{"nope": 1}]}}},
    ],
)
def test_a_script_that_cannot_be_played_is_refused_at_the_start(desk: Desk, script: Any) -> None:
    ended = desk.run(script)
    assert ended.exit == Exit(code=1)
    assert ended.stderr.startswith("stand-in: ")
    assert ended.stderr.count("\n") == 1
    assert ended.lines == []


def test_unknown_options_are_refused_as_claude_refuses_them(desk: Desk) -> None:
    call = StandIn().invocation(
        PartOrder("{}", str(uuid.uuid4()), False, "m", 1, "auto"),
        PartFolders(desk.folder, desk.folder),
        {},
    )
    done = subprocess.run(
        [*call.argv, "--no-such-flag"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, cwd=desk.work,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: unknown option '--no-such-flag'\n"
    assert ending_of(Turn(), Exit(1), None, done.stderr) == Ending.NO_BOX


def test_it_takes_nothing_from_the_environment_and_refuses_what_claude_refuses(desk: Desk) -> None:
    order = PartOrder("{}", str(uuid.uuid4()), False, "m", 1, "bypassPermissions")
    folders = PartFolders(desk.folder, desk.folder)
    with pytest.raises(Refused):
        StandIn().invocation(order, folders, {})
    assert StandIn().version_call() is None
    assert StandIn().login_problem({}) is None
    assert "is not there" in (StandIn(desk.folder / "none.json").login_problem({}) or "")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{", ": not JSON: Expecting property name"),
        (
            '{"work": [{"walk": 1}]}',
            ": work[0]: not exactly one known action (known: answer, ",
        ),
        ('{"account": 7}', ": account: not a text"),
        ("[]", " cannot be played: it is no script"),
        ('{"work": 7}', " cannot be played: it is no script"),
    ],
)
def test_a_script_that_cannot_be_played_is_no_login(desk: Desk, written: str, told: str) -> None:
    script = desk.folder / "script.json"
    script.write_text(written)
    problem = StandIn(script).login_problem({}) or ""
    assert problem.startswith("the stand-in's script ")
    assert f"{script}{told}" in problem


def test_every_action_that_a_script_may_name_is_played() -> None:
    assert set(PLAYS) == ACTIONS


def test_its_page_names_every_action_and_its_script_can_be_played(tmp_path: Path) -> None:
    table = [line.partition("|")[2].partition(" |")[0] for line in PAGE.splitlines()]
    named = {word for cell in table for word in re.findall(r"`(\w+): ", cell)}
    assert named == ACTIONS
    script = tmp_path / "script.json"
    script.write_text(PAGE.partition("```json")[2].partition("```")[0])
    assert StandIn(script=script).login_problem({}) is None
    answered = json.loads(script.read_text())["work"][-1]["answer"]
    assert set(answered) <= set(json.loads(REPORT)["properties"])
