"""What each action of a script does."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from colony.coding.stand_in.run import Run
from colony.coding.stand_in.script import Object, action_of, report_in


def play(run: Run, actions: list[Object]) -> None:
    for action in actions:
        PLAYS[action_of(action)](run, action)


def play_write(run: Run, action: Object) -> None:
    path, text = run.fill(action["write"]), run.fill(action.get("text", ""))
    call = run.call("Write", {"file_path": path, "content": text})
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        run.returned(call, str(error), failed=True)
        return
    run.files.append(path)
    run.returned(call, f"File created successfully at: {path}")


def play_run(run: Run, action: Object) -> None:
    run.output = run.shell(run.fill(action["run"]))


def play_daemon(run: Run, action: Object) -> None:
    command = run.fill(action["daemon"])
    call = run.call("Bash", {"command": command})
    nowhere = subprocess.DEVNULL
    left = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True,
    )  # fmt: skip
    run.returned(call, f"started, pid {left.pid}")


def play_deny(run: Run, action: Object) -> None:
    given = {"command": run.fill(action.get("detail", ""))}
    call = run.call(action["deny"], given)
    denial = {"tool_name": action["deny"], "tool_use_id": call}
    run.denials.append({**denial, "tool_input": given})
    run.emit({"type": "system", "subtype": "permission_denied", **denial, "message": "denied"})
    run.returned(call, "Permission was denied.", failed=True)


def play_recheck(run: Run, _action: Object) -> None:
    """Run each verified command again. Only what was compared is called ok or false."""
    report = report_in(run.prompt)
    findings = [_again(run, each) for each in report.get("verified", []) if isinstance(each, dict)]
    if not findings:
        check = "the report names no command that could be run again"
        findings = [_finding("the work is done", "other", "no evidence", check)]
    held = sum(each["status"] == "ok" for each in findings)
    summary = f"{held} of {len(findings)} claims held (a scripted check, not a model)."
    verdict = "pass" if held == len(findings) else "fail"
    for claim in report.get("done", []):
        findings.append(_finding(claim, "done", "not checked", "a script compares output only"))
    rulings = [
        {"index": at, "ruling": "ask", "reason": "a script rules on nothing", "answer": ""}
        for at, _ in enumerate(report.get("questions", []))
    ]
    run.answer(
        {"verdict": verdict, "findings": findings, "questions": rulings, "summary": summary},
        complete=True,
    )


def _again(run: Run, entry: Object) -> Object:
    command, output = str(entry.get("command", "")), str(entry.get("output", ""))
    same = run.shell(command).strip() == output.strip()
    status, said = ("ok", "printed the same") if same else ("false", "printed something else")
    return _finding(entry.get("claim"), "verified", status, f"ran it again, it {said}: {command}")


def _finding(claim: object, about: str, status: str, check: str) -> Object:
    return {"claim": str(claim or "a claim"), "about": about, "status": status, "check": check}


def play_quota(run: Run, action: Object) -> None:
    resets = reset_of(action)
    windows = {name: {"utilization": used, **resets} for name, used in action["quota"].items()}
    status = "allowed_warning" if action.get("warn") else "allowed"
    info = {"status": status, "isUsingOverage": False, "unifiedWindows": windows}
    run.emit({"type": "rate_limit_event", "rate_limit_info": info})


def play_limit(run: Run, action: Object) -> None:
    resets = reset_of(action)
    info = {"status": "rejected", **resets, "rateLimitType": action["limit"]}
    run.emit({"type": "rate_limit_event", "rate_limit_info": info})
    text = "You've hit your usage limit"
    if resets:
        clock = time.strftime("%I:%M%p", time.gmtime(resets["resetsAt"])).lstrip("0").lower()
        text += f" · resets {clock} (UTC)"
    error = {"error": "rate_limit", "api_error": "usage_limit_reached", "api_error_status": 429}
    run.fail_with(text, error)


def reset_of(action: Object) -> Object:
    """When its windows are reset, as the stream tells it; empty where that is not told."""
    seconds = action.get("reset_in", 3600)
    return {} if seconds is None else {"resetsAt": int(time.time()) + int(seconds)}


def play_refused(run: Run, _action: Object) -> None:
    word = "authentication_failed"
    error = {"error": word, "api_error": word, "api_error_status": 401}
    run.fail_with("Invalid API key · Please run /login", error)


def play_away(run: Run, _action: Object) -> None:
    error = {"error": "server_error", "api_error": "connection_failed", "api_error_status": None}
    run.fail_with("API Error: Connection refused (ECONNREFUSED)", error)


def play_error(run: Run, action: Object) -> None:
    error = {"api_error_status": action.get("status"), "api_error": action.get("word")}
    run.fail_with(run.fill(action["error"]), error)


def play_exit(_run: Run, action: Object) -> None:
    raise SystemExit(int(action["exit"]))


def play_hang(_run: Run, _action: Object) -> None:
    while True:
        signal.pause()


def play_sleep(_run: Run, action: Object) -> None:
    time.sleep(float(action["sleep"]))


def play_ignore_term(_run: Run, _action: Object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def play_when(run: Run, action: Object) -> None:
    holds = run.fill(action["when"]) in run.prompt
    play(run, action.get("then" if holds else "otherwise", []))


def play_repeat(run: Run, action: Object) -> None:
    for _ in range(int(action["repeat"])):
        play(run, action.get("actions", []))


def play_raw(_run: Run, action: Object) -> None:
    sys.stdout.write(action["raw"] + "\n")
    sys.stdout.flush()


PLAYS: Final[dict[str, Callable[[Run, Object], None]]] = {
    "say": lambda run, it: run.turn([{"type": "text", "text": run.fill(it["say"])}]),
    "write": play_write,
    "run": play_run,
    "daemon": play_daemon,
    "deny": play_deny,
    "answer": lambda run, it: run.answer(run.fill(it["answer"]), complete=True),
    "exactly": lambda run, it: run.answer(run.fill(it["exactly"]), complete=False),
    "recheck": play_recheck,
    "quota": play_quota,
    "limit": play_limit,
    "refused": play_refused,
    "away": play_away,
    "error": play_error,
    "result": lambda run, it: run.end(run.fill(it["result"]), int(it.get("exit", 0))),
    "exit": play_exit,
    "event": lambda run, it: run.emit(run.fill(it["event"])),
    "raw": play_raw,
    "sleep": play_sleep,
    "hang": play_hang,
    "ignore_term": play_ignore_term,
    "when": play_when,
    "repeat": play_repeat,
}
