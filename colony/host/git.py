"""The git program, as the host may call it: nothing that a repository says of itself is obeyed.

A repository can make git run a program: by hooks, `core.fsmonitor`, filters, merge and diff
drivers, `core.sshCommand`, pagers, helpers, includes (faults F61, T20). No variable of the caller
is passed on, no configuration but a repository's own is read, and what of that could run something
is overridden; where more than names of refs is read or anything is written, `Repository.view` keeps
even that away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.lines import clip
from colony.errors import Refused
from colony.host.box import PATH
from colony.host.call import CallResult, call
from colony.host.clock import Clock

QUICK_S: Final = 30.0
LONG_S: Final = 600.0
"""For what grows with the repository: a check-out, a pack."""
OUTPUT_MAX: Final = 64 * 1024 * 1024
BY: Final = "Colony"
MAIL: Final = "colony@localhost"

SAFE_ENV: Final = {
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "/bin/false",
    "GIT_EDITOR": "/bin/false",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_AUTHOR_NAME": BY,
    "GIT_AUTHOR_EMAIL": MAIL,
    "GIT_COMMITTER_NAME": BY,
    "GIT_COMMITTER_EMAIL": MAIL,
}
"""All that git gets beside PATH."""

SAFE_CONFIG: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.sshCommand=/bin/false",
    "core.gitProxy=/bin/false",
    "core.alternateRefsCommand=:",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.pager=cat",
    "core.editor=/bin/false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.file.allow=never",
    "protocol.ext.allow=never",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "receive.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=/bin/false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
)
"""Stronger than what any repository says."""


class GitFailed(Refused):
    """git did not do what it was asked; its own last line says why."""

    code = "git"


@dataclass(frozen=True, slots=True)
class Git:
    """git with the switches above. `search` is the PATH on which it is found."""

    clock: Clock
    search: str = PATH

    def ask(
        self,
        *args: str,
        cwd: Path,
        env: Mapping[str, str],
        timeout_s: float = QUICK_S,
        stdin: int | None = None,
    ) -> CallResult:
        """One call, however it ends. `env` names the repository: none is looked for."""
        switches = (word for each in SAFE_CONFIG for word in ("-c", each))
        return call(
            ("git", "--no-pager", "--literal-pathspecs", *switches, *args),
            {"PATH": self.search, **SAFE_ENV, **env},
            cwd,
            self.clock,
            timeout_s=timeout_s,
            limit_bytes=OUTPUT_MAX,
            stdin=stdin,
        )

    def run(
        self,
        *args: str,
        cwd: Path,
        env: Mapping[str, str],
        timeout_s: float = QUICK_S,
        stdin: int | None = None,
    ) -> bytes:
        """What it printed. `GitFailed`: it failed, took too long, or printed too much."""
        done = self.ask(*args, cwd=cwd, env=env, timeout_s=timeout_s, stdin=stdin)
        if done.exit.code != 0 or done.timed_out or done.cut:
            raise GitFailed(f"git {args[0]}: {why(done)}")
        return done.stdout


def why(done: CallResult) -> str:
    """The reason of a call that failed."""
    if done.timed_out:
        return "took too long"
    if done.cut:
        return "printed too much"
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return clip(lines[-1], 200) if lines else f"failed ({done.exit.code})"
