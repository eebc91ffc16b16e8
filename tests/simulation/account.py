"""The account that agents work with, and the agents: what they cost, say, leave and get wrong.

They speak the stream of the real program, so that the product's own reader tells what happened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.simulation.kernel import World
from tests.simulation.machines import BASE_MS, Box

WINDOW_S: Final = 5 * 3600.0
REPORTS: Final = ("done", "half", "question", "lies")


@dataclass
class Call:
    """One call of the program, as the account saw it. Costs are millionths of a dollar."""

    session: str
    conversation: str
    told: int | None = None
    """The total that its result told."""


@dataclass
class Conversation:
    total: int = 0
    """Counted over all its calls, but for what a kill lost."""
    pending: int = 0
    last: Box | None = None


@dataclass
class Temper:
    """What agents do, as chances; drawn for each seed."""

    outcomes: dict[str, float]
    check_fails: float = 0.1
    no_verdict: float = 0.05
    minutes: float = 20.0


@dataclass
class Account:
    """A provider's account: it has a window of use, and times in which nothing works."""

    world: World
    room: int
    """Steps that fit into one window."""
    used: int = 0
    window_s: float = 0.0
    limited_s: float = -1.0
    """Until then everything is turned away."""
    tells: bool = False
    """Its agents say how full it is."""
    silent_reset: bool = False
    """A limit does not say until when it holds."""
    away_s: float = -1.0
    no_login_s: float = -1.0
    calls: list[Call] = field(default_factory=list)
    conversations: dict[str, Conversation] = field(default_factory=dict)
    turned_away: Callable[[Box, int | None], object] = lambda box, resets_ms: None
    """Told of each call that met a limit as it began, and of the reset that it was told."""
    answered: Callable[[Box], object] = lambda box: None
    """Told of each step of a call."""

    def use(self) -> None:
        if self.world.now_s - self.window_s >= WINDOW_S:
            self.window_s, self.used = self.world.now_s, 0
        self.used += 1
        if self.used >= self.room and self.limited_s < self.world.now_s:
            self.limited_s = self.window_s + WINDOW_S
            self.silent_reset = self.world.roll(0.2)
            self.world.count("limit reached")

    @property
    def resets_s(self) -> int | None:
        """As the program tells it, Unix seconds."""
        return None if self.silent_reset else BASE_MS // 1000 + int(self.limited_s) + 1

    @property
    def trouble(self) -> str:
        now_s = self.world.now_s
        if now_s < self.no_login_s:
            return "login"
        if now_s < self.limited_s:
            return "limit"
        return "provider" if now_s < self.away_s else ""


class Agents:
    """The program: one call for each box."""

    def __init__(self, world: World, account: Account, temper: Temper) -> None:
        self.world, self.account, self.temper = world, account, temper
        self.tickets: dict[str, str] = {}
        """Session -> its ticket."""
        self.valid: dict[str, int] = {}
        """Session -> structured answers of its worker."""

    def run(self, box: Box) -> None:
        _Call(self, box).run()


class _Call:
    def __init__(self, agents: Agents, box: Box) -> None:
        self.agents, self.world, self.account = agents, agents.world, agents.account
        self.box, self.dice = box, agents.world.dice
        argv = box.command.argv
        flag = "--resume" if "--resume" in argv else "--session-id"
        self.conversation = argv[argv.index(flag) + 1]
        self.resumed = flag == "--resume"
        self.steps_max = int(argv[argv.index("--max-turns") + 1])
        self.checks = box.checks
        self.asked_for_report = Path(box.command.stdin).name == "finalize.md"
        self.known = self.account.conversations.setdefault(self.conversation, Conversation())
        self.call = Call(box.session, self.conversation)
        self.said = Path(box.command.stdout).open("a", encoding="utf-8")
        self.steps = 0

    # --- its life ----------------------------------------------------------------------------

    def run(self) -> None:
        try:
            self._settle_last()
            self.account.calls.append(self.call)
            status = self._work()
            self.box.process.end(status)
        finally:
            self.said.close()

    def _settle_last(self) -> None:
        """A call that was asked to end saved its cost; one that was killed lost it."""
        known, last = self.known, self.known.last
        if last is not None and last.process.status == -15:
            known.total += known.pending
        known.pending, known.last = 0, self.box

    def _work(self) -> int:
        self.world.sleep(self.dice.uniform(1, 5))
        self._say({"type": "system", "subtype": "init", "session_id": self.conversation,
                   "model": "claude-sim", "permissionMode": "auto",
                   "claude_code_version": "2.1.328"})  # fmt: skip
        if trouble := self.account.trouble:
            if trouble == "limit":
                resets_s = self.account.resets_s
                self.account.turned_away(self.box, None if resets_s is None else resets_s * 1000)
            return self._fails(trouble)
        outcome = self._outcome()
        lasts_s = self.dice.expovariate(1 / (self.agents.temper.minutes * 60))
        if self.checks or self.asked_for_report:
            lasts_s /= 5
        steps = min(1 + int(lasts_s // 180), 40)
        if outcome == "out of steps":
            steps = self.steps_max
        for _ in range(min(steps, self.steps_max)):
            self.world.sleep(max(5.0, min(lasts_s / steps, 900)))
            if trouble := self.account.trouble:
                return self._fails(trouble)
            self._step()
        return self._ends(outcome)

    def _outcome(self) -> str:
        temper = self.agents.temper
        if self.checks:
            if self.world.roll(temper.no_verdict):
                return "silent"
            return "fail" if self.world.roll(temper.check_fails) else "pass"
        if self.asked_for_report:
            return "done" if self.world.roll(0.8) else "silent"
        words, weights = zip(*temper.outcomes.items(), strict=True)
        return str(self.dice.choices(words, weights)[0])

    def _step(self) -> None:
        self.steps += 1
        self.account.use()
        self.account.answered(self.box)
        self.known.pending += self.dice.randint(1_000, 90_000)
        usage = {"input_tokens": 100, "output_tokens": 20}
        call = {
            "type": "tool_use",
            "id": f"t{self.steps}",
            "name": "Bash",
            "input": {"command": "make"},
        }
        message = {
            "id": f"m{self.world.steps}-{self.steps}",
            "model": "claude-sim",
            "usage": usage,
            "content": [call],
        }
        self._say({"type": "assistant", "message": message, "session_id": self.conversation})
        if not self.checks:
            self._touch()

    def _touch(self) -> None:
        """Something new in the dev folder."""
        made = Path(self.box.command.cwd) / f"made-{self.agents.tickets[self.box.session]}"
        made.write_text("made\n")
        at_ns = (
            BASE_MS + self.box.owner.host.ahead_ms + round(self.world.now_s * 1000)
        ) * 1_000_000
        os.utime(made, ns=(at_ns, at_ns))

    # --- how it ends -------------------------------------------------------------------------

    def _ends(self, outcome: str) -> int:
        self.world.count(f"agent: {outcome}")
        match outcome:
            case "out of steps":
                return self._result(
                    subtype="error_max_turns", is_error=True, terminal_reason="max_turns"
                )
            case "hangs":
                self.world.sleep(1e6)
            case "crashes":
                return 1
            case "silent":
                return self._result(result="I am done.")
            case "pass" | "fail":
                return self._result(structured_output=self._verdict(outcome))
            case _:
                self.agents.valid[self.box.session] = self.agents.valid.get(self.box.session, 0) + 1
                return self._result(structured_output=self._report(outcome))
        return 0

    def _fails(self, trouble: str) -> int:
        self.world.count(f"agent: {trouble}")
        if trouble == "limit":
            until = self.account.resets_s
            info = {"status": "rejected", "rateLimitType": "five_hour", "isUsingOverage": False}
            if until is not None:
                info |= {"resetsAt": until}
            self._say({"type": "rate_limit_event", "rate_limit_info": info})
            return self._error(
                "You've hit your session limit", 429, "rate_limit", "usage_limit_reached"
            )
        if trouble == "login":
            return self._error(
                "Invalid API key · Fix external API key", 401, "authentication_failed", ""
            )
        return self._error("API Error: Repeated 529 Overloaded errors.", 529, "server_error", "")

    def _error(self, text: str, status: int, word: str, api_error: str) -> int:
        message = {"model": "<synthetic>", "content": [{"type": "text", "text": text}]}
        self._say({"type": "assistant", "message": message, "error": word,
                   "is_api_error_message": True, "api_error_status": status})  # fmt: skip
        more = {"api_error": api_error} if api_error else {}
        self._result(
            is_error=True, api_error_status=status, result=text, terminal_reason="api_error", **more
        )
        return 1

    def _result(self, **more: Any) -> int:
        known, account = self.known, self.account
        if account.tells and not more.get("is_error"):
            resets = BASE_MS // 1000 + int(account.window_s + WINDOW_S)
            share = {
                "utilization": min(1.0, account.used / account.room),
                "resetsAt": resets,
                "status": "allowed",
            }
            info = {"status": "allowed", "unifiedWindows": {"five_hour": share}}
            self._say({"type": "rate_limit_event", "rate_limit_info": info})
        known.total += known.pending
        known.pending = 0
        self.call.told = known.total
        event = {"type": "result", "subtype": "success", "is_error": False, "num_turns": self.steps,
                 "session_id": self.conversation, "total_cost_usd": known.total / 1_000_000,
                 "usage": {"input_tokens": 100 * self.steps, "output_tokens": 20 * self.steps},
                 "permission_denials": [], "result": ""}  # fmt: skip
        self._say(event | more)
        return 1 if more.get("is_error") else 0

    def _report(self, outcome: str) -> dict[str, Any]:
        ticket = self.agents.tickets[self.box.session]
        asks = (
            [{"title": "Which colour?", "text": "Red or green?"}] if outcome == "question" else []
        )
        claim = {
            "claim": "it works",
            "command": "make check",
            "output": "ok" if outcome != "lies" else "lie",
        }
        return {
            "ticket": ticket, "session": self.box.session, "result": "It works.",
            "complete": outcome != "half", "test": ["Open it.", "It works."], "done": ["made it"],
            "verified": [claim], "open": ["the rest"] if outcome == "half" else [], "issues": [],
            "questions": asks, "running": [], "refused": [], "decided": [],
        }  # fmt: skip

    def _verdict(self, outcome: str) -> dict[str, Any]:
        folder = Path(self.box.command.stdin).parent
        report = json.loads((folder / "report.json").read_text("utf-8"))
        bad = outcome == "fail" or report["verified"][0]["output"] == "lie"
        finding = {
            "claim": "it works",
            "about": "verified",
            "status": "false" if bad else "ok",
            "check": "ran it",
        }
        rulings = [
            {"index": at, "ruling": "ask", "reason": "it changes what is built", "answer": ""}
            for at in range(len(report["questions"]))
        ]
        return {
            "ticket": report["ticket"], "session": report["session"],
            "verdict": "fail" if bad else "pass", "findings": [finding],
            "questions": rulings, "summary": "Looked at it.",
        }  # fmt: skip

    def _say(self, event: dict[str, Any]) -> None:
        self.said.write(json.dumps(event) + "\n")
        self.said.flush()
