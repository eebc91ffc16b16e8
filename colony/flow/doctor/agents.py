"""Looking at a coding agent: found, new enough, logged in. It costs nothing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from colony.coding.login import CLOUD_VARIABLES, LOGIN_VARIABLES, login_folder
from colony.coding.protocol import CodingAgent
from colony.core.allowlist import allowed
from colony.core.doctor import Diagnosis, fail, ok, warn
from colony.core.session import Runner
from colony.flow.doctor.machine import CALL_S, PATH
from colony.host.call import call
from colony.host.clock import Clock

TESTED: Final = "2.1.328"
"""The version that this Colony was built with. npm must be told one: on an old Node it takes an old
one by itself, without a word."""
PACKAGE: Final = f"@anthropic-ai/claude-code@{TESTED}"


def look_at_agent(
    agent: CodingAgent, runner: Runner, environ: Mapping[str, str], clock: Clock, env_file: Path
) -> tuple[Diagnosis, ...]:
    """The checks that a start would make. `env_file` is where settings are kept."""
    check = f"agent {agent.name}"
    path = environ.get("PATH", PATH)
    asked = agent.version_call()
    if asked is None:
        problem = agent.login_problem(environ)
        if problem:
            return (fail(check, problem, "correct COLONY_STAND_IN_SCRIPT, or leave it out"),)
        return (warn(check, "a script plays the agent's part: no model does any work"),)
    if shutil.which(asked.argv[0], path=path) is None:
        return (
            fail(check, f"the program {runner.program} is not found", _install(path, env_file)),
        )
    env = {**allowed(environ, ()), **asked.env}
    done = call(asked.argv, env, Path("/"), clock, timeout_s=CALL_S)
    said = done.stdout.decode("utf-8", "replace")
    if done.timed_out:
        return (fail(check, f"{runner.program} gave no answer within {CALL_S:g} s"),)
    if problem := agent.version_problem(said):
        return (fail(check, problem, _install(path, env_file)),)
    if problem := agent.login_problem(environ):
        return (fail(check, problem),)
    return (ok(check, f"{said.strip()}, {login(environ)}"),)


def login(environ: Mapping[str, str]) -> str:
    """Which login a session would use; whether it is good, only a paid call could tell."""
    names = (*LOGIN_VARIABLES, *CLOUD_VARIABLES)
    given = [name for name in names if environ.get(name)]
    how = f"login by {given[0]}" if given else f"login stored in {login_folder(environ)}"
    return f"{how} (found, not tried)"


def _install(path: str, env_file: Path) -> str:
    if shutil.which("npm", path=path) is None:
        first = "install Node.js 22 or newer, then "
    else:
        first = ""
    return (
        f"{first}`npm install -g {PACKAGE}`, or set COLONY_CLAUDE to where it is; to try Colony"
        f" without an account, COLONY_AGENT=stand-in (in {env_file})"
    )
