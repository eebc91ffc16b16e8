"""Is the box a box? Asked from inside of it before every start, and judged from outside.

A rule that silently does not work is the failure seen most often in sandboxes, so none is believed:
canaries lie where an agent must not come, a small program in the box that is to be used looks for
them, and whatever it finds refuses the start (faults 5.3). The other way round, too: what the agent
needs has to be there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.lines import clip
from colony.host.box import Namespaces, NoBox
from colony.host.clock import Clock
from colony.host.gate import SHELLS_OWN
from colony.host.launch import Command
from colony.host.process import spawn
from colony.host.sweep import sweep

PROOF_S: Final = 10.0
SESSION: Final = "COLONY_SESSION"
"""By this variable what a session left is found; a proof has one of its own, and ends nothing."""
ANSWER_MAX: Final = 1024 * 1024
_ENVIRONMENT: Final = b"\nenvironment\n"

# $1 program, $2 this PID namespace, $3 a name for new files, $4 are user namespaces allowed,
# $5 is the folder to be written; then places that must not be read.
_SCRIPT: Final = """
program=$1 pids=$2 new=$3 userns=$4 writes=$5
shift 5
bad() { echo "bad $*"; }
for secret do
  word=
  if read -r word <"$secret" || [ -n "$word" ]; then bad "a hidden file can be read: $secret"; fi
  [ -e "$secret" ] && (: >>"$secret") && bad "a hidden file can be written: $secret"
done
for place in /etc /usr; do
  (: >"$place/$new") && bad "$place can be written"
done
[ "$(readlink /proc/self/ns/pid)" = "$pids" ] && bad "processes outside can be seen"
(: </dev/tty) && bad "it has a terminal"
for fd in /proc/$$/fd/*; do
  case ${fd##*/} in 0 | 1 | 2) ;; *) [ -e "$fd" ] && bad "file descriptor ${fd##*/} is open" ;; esac
done
while read -r name value; do
  case $name in CapPrm: | CapEff:)
    [ "$value" = 0000000000000000 ] || bad "it has capabilities"
  esac
done </proc/self/status
if [ "$userns" = no ]; then
  command -v unshare >/dev/null || bad "unshare (util-linux) is missing, by which it is proved"
  unshare -U true && bad "user namespaces can be made"
fi
if [ "$writes" = yes ]; then [ -w . ] || bad "the user cannot write in $PWD"; fi
[ -d . ] || bad "$PWD is not there"
command -v "$program" >/dev/null || bad "the program $program is not there: see COLONY_SANDBOX_RO"
sleep 300 &
echo end
echo environment
exec cat /proc/self/environ
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is asked of a box beside what is asked of every one."""

    program: str
    """The agent's, which has to be there."""
    secrets: tuple[Path, ...] = ()
    """Files that must not be read in it; those that are there."""
    writes: bool = True
    """Its folder is one to write in."""


def prove(box: Namespaces, command: Command, proof: Proof, clock: Clock) -> None:
    """Try this box, with this command's folder and environment. `NoBox`: why it is none.

    From the main thread, as `spawn`; nothing of `command` is run or written.
    """
    with tempfile.TemporaryDirectory(prefix="colony-") as name:
        folder = Path(name)
        with _canaries(folder, command.cwd) as canary:
            hidden = tuple(each for each in proof.secrets if each.is_file())
            script = _script(box, proof, canary.new, (canary.file, *hidden))
            out = folder / "out"
            env = {**command.env, SESSION: f"proof-{canary.word}"}
            trial = Command(script, env, command.cwd, Path(os.devnull), out, folder / "err")
            with spawn(trial, box) as running:
                running.go()
                if running.wait(PROOF_S) is None:
                    raise NoBox("the box gave no answer when it was tried")
            answer = out.read_bytes()[:ANSWER_MAX]
            problems = (*_said(answer, env), *canary.problems())
        left = sweep(env[SESSION], clock)
        if left:
            problems = (*problems, "what is started in it outlives it")
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise NoBox(f"the box does not hold: {clip(problems[0], 200)}{more}")


@dataclass(frozen=True, slots=True)
class _Canary:
    file: Path
    word: str
    new: str
    """A name that no folder outside may hold afterwards."""
    folders: tuple[Path, ...]

    def problems(self) -> Iterator[str]:
        if self.file.read_text() != self.word:
            yield "files outside can be changed"
        for folder in self.folders:
            if (folder / self.new).exists():
                (folder / self.new).unlink()
                yield f"{folder} can be written"


@contextlib.contextmanager
def _canaries(folder: Path, cwd: Path) -> Iterator[_Canary]:
    word = secrets.token_hex(16)
    canary = folder / "canary"
    canary.write_text(word)
    yield _Canary(canary, word, f".colony-{word[:12]}", (Path("/etc"), Path("/usr"), cwd.parent))


def _script(box: Namespaces, proof: Proof, new: str, hidden: tuple[Path, ...]) -> tuple[str, ...]:
    userns = box.hardening is not None and box.hardening.nested
    pids = str(Path("/proc/self/ns/pid").readlink())
    words = (proof.program, pids, new, _word(userns), _word(proof.writes))
    return ("/bin/sh", "-c", _SCRIPT, "proof", *words, *map(str, hidden))


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


def _said(answer: bytes, env: Mapping[str, str]) -> Iterator[str]:
    told, found, environ = answer.partition(_ENVIRONMENT)
    lines = told.decode("utf-8", "replace").splitlines()
    if not found or lines[-1:] != ["end"]:
        yield f"it did not come to its end ({clip(' '.join(lines[-2:]), 100) or 'it said nothing'})"
    yield from (line.removeprefix("bad ") for line in lines if line.startswith("bad "))
    wanted = {
        os.fsencode(name): os.fsencode(value)
        for name, value in env.items()
        if name not in SHELLS_OWN
    }
    own = {os.fsencode(name) for name in SHELLS_OWN}
    seen = dict(word.split(b"=", 1) for word in environ.split(b"\0") if b"=" in word)
    for name in sorted(seen.keys() | wanted.keys()):
        if name not in own and seen.get(name) != wanted.get(name):
            yield f"the variable {name.decode('utf-8', 'replace')} is not as it should be"
