"""What a session does with its tree: make it ready, save what is in it, bring it into the base."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from colony.core.allowlist import allowed, of_session
from colony.core.lines import Line
from colony.core.ready import LOCK_FILES, stamp_of
from colony.core.session import Facts, SaveWork
from colony.core.tree_facts import TreeFacts, TreeSetup
from colony.errors import Busy, ColonyError, Refused
from colony.flow.inside import Order, inside
from colony.flow.session_record import Record
from colony.host.bundles import BUNDLE_MAX
from colony.host.cgroup import Limits
from colony.host.files import read_bytes
from colony.host.git import BY, MAIL
from colony.host.merging import Conflicts, Planned
from colony.host.trees import BASE_REF, Trees
from colony.host.view import emptied_in

GIT_S: Final = 600.0
SETUP_S: Final = 1800.0
"""For each of the commands."""
BUNDLE: Final = "bundle"
LOCK_FILE_MAX: Final = 32 * 1024 * 1024
NOTHING_NEW: Final = 9
"""How the script ends that finds no commit which the base does not have."""

_GIT: Final = """
git() {
  command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false \\
    -c gc.auto=0 -c user.useConfigOnly=false -c core.editor=false "$@"
}
rm -f .git/*.lock ".git/refs/heads/$1.lock"
"""
"""No process of the session lives: what is locked was left by one that was killed."""

# $1 branch, $2 ref, $3 the base's commit
_READY: Final = f"""set -e
{_GIT}
git update-ref "$2" "$3"
"""

# $1 branch, $2 the base's commit, $3 message, $4 file in $TMPDIR, and what the box shows as empty
_SAVE: Final = f"""set -e
{_GIT}
bad() {{ echo "$*" >&2; exit 1; }}
[ -z "$(git ls-files --unmerged)" ] || bad "a merge was begun in the tree and is not ended"
on=$(git symbolic-ref -q HEAD || true)
if [ "$on" != "refs/heads/$1" ]; then
  git merge-base --is-ancestor "refs/heads/$1" HEAD ||
    bad "the tree is on ${{on:-no branch}}, which does not go on from $1"
  git update-ref "refs/heads/$1" HEAD
  git symbolic-ref HEAD "refs/heads/$1"
fi
git add -A
branch=$1 base=$2 message=$3 file=$TMPDIR/$4
shift 4
export GIT_LITERAL_PATHSPECS=1
empty=$(git hash-object -t blob /dev/null)
for each in "$@"; do
  from=HEAD
  [ "$(git rev-parse -q --verify "HEAD:$each" || true)" != "$empty" ] || from=$base
  git reset -q "$from" -- "$each"
done
git diff --cached --quiet HEAD || git commit -q --no-verify -m "$message"
[ -n "$(git rev-list --max-count=1 HEAD "^$base")" ] || exit {NOTHING_NEW}
git bundle create -q --version=2 "$file" "^$base" "refs/heads/$branch"
"""


class TreeWork:
    """`stops` says whether this process is to leave off. Every step may be repeated."""

    def __init__(self, record: Record, stops: Callable[[], bool]) -> None:
        self._record = record
        self._bench = record.bench
        self._stops = stops

    @property
    def _facts(self) -> Facts:
        return self._record.facts

    @property
    def _setup(self) -> TreeSetup:
        assert self._facts.setup.tree is not None
        return self._facts.setup.tree

    @property
    def _trees(self) -> Trees:
        assert self._bench.trees is not None
        return self._bench.trees

    @property
    def _repository(self) -> Path:
        return Path(self._setup.repository)

    def _changed(self, **changes: object) -> TreeFacts:
        return replace(self._facts.tree, **changes)  # type: ignore[arg-type]

    def _save(self, tree: TreeFacts) -> None:
        self._record.save(replace(self._facts, tree=tree))

    def _tell(self, text: str, kind: str = "tree") -> None:
        self._bench.emit(Line(kind, f"— {text}", str(self._facts.ticket), self._facts.session))

    # --- before a part -----------------------------------------------------------------------

    def make_ready(self) -> None:
        """The base as a ref, no lock of the dead, and what `setup` installs. Where that fails the
        worker is started all the same: to mend it may be its task."""
        problem = ""
        for name, argv, timeout_s in self._before():
            try:
                with inside(
                    self._bench.place, self._order(name, argv, timeout_s), self._stops
                ) as done:
                    problem = f"{argv[-1] if name != 'ready' else 'git'}: {done.problem}"
                    if done.cause == "stop":
                        return
                    if not done.problem:
                        problem = ""
                        continue
            except Refused as error:
                problem = error.line
            break
        setup = self._setup
        if problem:
            self._tell(f"{self._facts.ticket}: its tree is not ready: {problem}", "warning")
        elif setup.commands:
            self._trees.made_ready(setup.name, self._stamp())
        self._save(self._changed(ready_for=len(self._facts.parts), not_ready=problem))

    def _before(self) -> Iterator[tuple[str, tuple[str, ...], float]]:
        setup = self._setup
        script = ("/bin/sh", "-c", _READY, "sh", setup.branch, BASE_REF, setup.base)
        yield "ready", script, GIT_S
        record = self._trees.record(setup.name)
        if not setup.commands or (record is not None and record.setup == self._stamp()):
            return
        for number, command in enumerate(setup.commands, 1):
            self._tell(f"{self._facts.ticket}: setup: {command}")
            yield f"setup-{number}", ("/bin/sh", "-c", command), SETUP_S

    def _stamp(self) -> str:
        folder = Path(self._facts.setup.folder)
        found = {}
        for name in LOCK_FILES:
            try:
                data = read_bytes(folder / name, LOCK_FILE_MAX, within=folder)
            except Refused:
                data = b"it cannot be read"
            if data is not None:
                found[name] = data
        return stamp_of(self._setup.commands, found)

    # --- after the last part -----------------------------------------------------------------

    def save_work(self, step: SaveWork) -> None:
        """Commit, bundle, verify, take the branch. What cannot be saved stays in the tree, which
        the reaper then leaves, and the result says so."""
        facts, setup = self._facts, self._setup
        message = f"{facts.ticket}: work of session {facts.session}"
        tree = self._changed(saved_after=step.after, not_saved="")
        try:
            found = self._bundled(message)
            if found is None:
                return
            if found:
                file = self._bench.place.folder.path / BUNDLE
                note = f"colony: {facts.ticket} by {facts.session}"
                tip = self._trees.take(self._repository, file, setup.branch, note)
                tree = replace(tree, tip=tip, bundle_sha256=found)
                self._tell(f"{facts.ticket}: {setup.branch} is at {tip[:12]}")
        except Busy:
            raise
        except ColonyError as error:
            tree = replace(tree, not_saved=error.line)
            self._tell(f"{facts.ticket}: its work is not saved: {error.line}", "warning")
        self._save(tree)

    def _bundled(self, message: str) -> str | None:
        """The bundle's sha256; empty: there is nothing to save; None: it was stopped."""
        setup, place = self._setup, self._bench.place
        # The one name in the scratch space that is read afterwards.
        folder = Path(self._facts.setup.folder)
        emptied = emptied_in(folder) if self._bench.walls is not None else ()
        words = (setup.branch, setup.base, message, BUNDLE, *emptied)
        order = self._order("save", ("/bin/sh", "-c", _SAVE, "sh", *words), GIT_S)
        with inside(place, order, self._stops) as done:
            if done.cause == "stop":
                return None
            if done.exit.code == NOTHING_NEW:
                return ""
            if done.problem:
                raise Refused(done.problem)
            return place.folder.take_in(done.tmp, BUNDLE, BUNDLE_MAX)

    def _order(self, name: str, argv: tuple[str, ...], timeout_s: float) -> Order:
        bench, facts = self._bench, self._facts
        secrets = bench.secrets if name.startswith("setup") else {}
        env = {
            **allowed(bench.place.environ, bench.pass_env),
            **secrets,
            **of_session(facts.session, facts.setup.ports, ""),
            "GIT_TERMINAL_PROMPT": "0",
        }
        if not name.startswith("setup"):
            env |= {"GIT_AUTHOR_NAME": BY, "GIT_AUTHOR_EMAIL": MAIL}
            env |= {"GIT_COMMITTER_NAME": BY, "GIT_COMMITTER_EMAIL": MAIL}
        limits = Limits(facts.setup.memory_max, facts.setup.pids_max)
        return Order(name, argv, Path(facts.setup.folder), env, timeout_s, bench.walls, limits)

    # --- after the check ---------------------------------------------------------------------

    def merge(self) -> None:
        """First what is to be done goes on record, then it is done: a crash repeats the second."""
        facts, setup, tree = self._facts, self._setup, self._facts.tree
        try:
            if not tree.merge_new:
                self._plan()
                return
            planned = Planned(tree.merge_old, tree.merge_new)
            note = f"colony: merge {setup.branch} ({facts.session})"
            why = self._trees.move(self._repository, setup.into, planned, note)
        except Busy:
            raise
        except ColonyError as error:
            why = error.line
        if not why:
            self._save(self._changed(merged="merged"))
            self._tell(f"{facts.ticket}: {setup.branch} is merged into {setup.into}")
        elif self._trees.went_on(self._repository, setup.into, tree.merge_old):
            self._save(self._changed(merge_old="", merge_new=""))
        else:
            self._save(self._changed(merged="left", not_merged=why))
            self._tell(f"{facts.ticket}: not merged into {setup.into}: {why}", "warning")

    def _plan(self) -> None:
        facts, setup, tree = self._facts, self._setup, self._facts.tree
        message = f"Merge {facts.ticket} (session {facts.session})"
        found = self._trees.plan(self._repository, setup.into, tree.tip, message)
        if isinstance(found, Conflicts):
            self._save(self._changed(merged="conflicts", conflicts=found.files))
            shown = ", ".join(found.files[:5])
            self._tell(f"{facts.ticket}: conflicts with {setup.into} in {shown}", "warning")
        else:
            self._save(self._changed(merge_old=found.old, merge_new=found.new))
