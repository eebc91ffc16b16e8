"""Trees of tickets: a stand-alone clone each, whose objects are borrowed from the base repository.

A tree is made under another name and renamed, so that it is whole where it is there. From then on
whoever works in it may have changed all of it, its git folder too: no git of the host opens that
any more (`docs/decisions/0018-trees.md`). What Colony knows of it lies beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.lines import Json
from colony.core.strict_json import Problems, load_json
from colony.core.trees import OURS, TreeSeen, kept_because, ref_of
from colony.errors import ColonyError, Refused
from colony.host import merging
from colony.host.bundles import take_branch, unpack
from colony.host.clock import Clock
from colony.host.files import make_folder, read_own, write_own, write_problem
from colony.host.git import LONG_S, Git
from colony.host.lock import Lock, is_locked, lock_file, lock_folder
from colony.host.merging import Conflicts, Planned
from colony.host.removal import remove_own
from colony.host.repository import NONE, Repository, View, borrowed_line, shallow_of
from colony.host.tree_refs import (
    HEADS,
    Unreadable,
    held_by_git,
    is_half_way,
    own_repositories,
    refs_in,
)

BASE_REF: Final = "refs/colony/base"
"""In a tree: the base as the newest session found it."""
RECORDS: Final = ".records"
"""Folder beside the trees: what Colony notes of each, out of reach of who works in them."""
NEW: Final = ".new-"
GONE: Final = ".gone-"
RECORD_MAX: Final = 64 * 1024
LOCK_WAIT_S: Final = 120.0
"""Others' trees of the same repository are made meanwhile, one after the other."""

Saved = Mapping[str, Path]
"""Commit -> a bundle that brings it, whose hash is the recorded one."""
NO_BUNDLES: Final[Saved] = {}


@dataclass(frozen=True, slots=True)
class Start:
    """Where a session's branch begins."""

    branch: str
    into: str
    """The branch that it is cut from, and may be merged into."""
    base: str
    """The commit of that branch now."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is noted of a tree. `setup`: hash of what made it ready last; empty: nothing yet."""

    repository: str
    branch: str
    setup: str = ""


@dataclass(frozen=True, slots=True)
class Trees:
    """The trees of a home, in `folder`."""

    folder: Path
    clock: Clock
    search: str

    def path(self, name: str) -> Path:
        return self.folder / name

    def start(self, repository: Path, branch: str, into: str) -> Start:
        """`into` empty: the branch that is checked out. `Refused`: there is no such repository or
        branch."""
        base = self._repository(repository)
        into = into or base.head() or ""
        if not into:
            raise Refused(f"{repository} is on no branch: name one as `base` in the registry")
        commit = base.branch(into)
        if commit is None:
            raise Refused(f"{repository} has no branch {into} with a commit")
        if into.startswith(OURS):
            raise Refused(f"{repository} is on {into}, a branch of Colony: name another as `base`")
        return Start(branch, into, commit)

    def make(self, name: str, repository: Path, start: Start) -> Path:
        """The tree, made where it is missing; one that is there is left as it is.

        `Refused`, `Busy`: it cannot be had; nothing half made is left under its name.
        """
        base = self._repository(repository)
        path = self.path(name)
        try:
            make_folder(self.folder / RECORDS)
        except OSError as problem:
            raise write_problem(problem, str(self.folder)) from None
        with self._locked(base.shared):
            known = self.record(name)
            if os.path.lexists(path):
                if path.is_symlink() or not path.is_dir():
                    raise Refused(f"{path}: is no folder")
                if known is None or known.repository != str(base.shared):
                    raise Refused(f"{path}: is no tree of {base.top}")
                self._note(name, known)
                return path
            self._note(name, Record(str(base.shared), start.branch))
            self._make_anew(name, base, start)
        return path

    def record(self, name: str) -> Record | None:
        """What is noted of a tree; None: nothing that can be used."""
        try:
            data = read_own(self.folder / RECORDS, f"{name}.json", RECORD_MAX)
            found: Json | Problems = load_json((data or b"").decode("utf-8", "replace"))
        except ColonyError:
            return None
        if not isinstance(found, dict):
            return None
        repository, branch, setup = (found.get(key) for key in ("repository", "branch", "setup"))
        texts = (repository, branch, setup)
        if not all(isinstance(each, str) for each in texts):
            return None
        return Record(str(repository), str(branch), str(setup))

    def made_ready(self, name: str, setup: str) -> None:
        """Note by what a tree was made ready."""
        known = self.record(name)
        if known is not None:
            self._note(name, Record(known.repository, known.branch, setup))

    def _note(self, name: str, record: Record) -> None:
        text = json.dumps(
            {"repository": record.repository, "branch": record.branch, "setup": record.setup}
        )
        write_own(self.folder / RECORDS, f"{name}.json", text.encode())

    def _make_anew(self, name: str, base: Repository, start: Start) -> None:
        new = self.folder / f"{NEW}{name}"
        remove_own(self.folder, new.name)
        first = base.branch(start.branch)
        if first is None:
            # From here on the base holds what the tree borrows, whatever becomes of its branches.
            base.set_branch(start.branch, start.base, NONE, f"colony: begun from {start.into}")
        env = {"GIT_DIR": str(new / ".git"), "GIT_WORK_TREE": str(new)}
        run, at = base.git.run, self.folder
        head = f"--initial-branch={start.branch}"
        run("init", "-q", "--template=", head, str(new), cwd=at, env={})
        borrowed = new / ".git" / "objects" / "info" / "alternates"
        try:
            borrowed.parent.mkdir(exist_ok=True)
            borrowed.write_text(borrowed_line(base.objects))
            if shallow := shallow_of(base.shared):
                (new / ".git" / "shallow").write_bytes(shallow)
        except OSError as problem:
            raise write_problem(problem, str(new)) from None
        run("update-ref", f"refs/heads/{start.branch}", first or start.base, cwd=at, env=env)
        run("update-ref", BASE_REF, start.base, cwd=at, env=env)
        run("read-tree", "--reset", "-u", "HEAD", cwd=new, env=env, timeout_s=LONG_S)
        try:
            new.rename(self.path(name))
        except OSError as problem:
            raise write_problem(problem, str(self.path(name)), "made") from None

    # --- looking -----------------------------------------------------------------------------

    def names(self) -> tuple[str, ...]:
        """Of whatever looks like a tree. `Refused`: the folder cannot be listed."""
        try:
            with os.scandir(self.folder) as entries:
                return tuple(sorted(each.name for each in entries if ref_of(each.name)))
        except FileNotFoundError:
            return ()
        except OSError as problem:
            raise Refused(f"{self.folder}: cannot be listed: {problem.strerror}") from None

    def oldest_first(self) -> tuple[str, ...]:
        """As `names`: the one that was used longest ago comes first."""
        return tuple(sorted(self.names(), key=lambda name: (self._used_ms(name), name)))

    def look(self, name: str, saved: Saved = NO_BUNDLES) -> TreeSeen:
        """What is known of a tree without opening its git folder as git would."""
        path = self.path(name)
        known = self.record(name)
        plain = not path.is_symlink() and path.is_dir()
        inside = plain and path.resolve() == self.folder.resolve() / name
        if not inside or known is None:
            why = "" if inside else "it leads out of the folder of trees"
            return TreeSeen(name, self._used_ms(name), ours=False, why=why)
        held = self._held(path)
        if held:
            return TreeSeen(name, self._used_ms(name), ours=True, locked=held)
        return self._looked_into(name, known, saved)

    def _looked_into(self, name: str, known: Record, saved: Saved) -> TreeSeen:
        path, used_ms = self.path(name), self._used_ms(name)
        try:
            refs = refs_in(path / ".git")
            base = self._repository(Path(known.repository))
            stash = any(each == "refs/stash" for each in refs)
            with base.view() as view:
                commits = [each for each in sorted(set(refs.values())) if not view.is_saved(each)]
                unsaved = any(each not in saved for each in commits)
                for commit in commits if not unsaved else ():
                    unpack(view, saved[commit])
                dirty = None if unsaved else self._is_dirty(path, view, refs)
        except (Unreadable, ColonyError, OSError) as problem:
            return TreeSeen(name, used_ms, ours=True, why=f"it could not be looked at: {problem}")
        return TreeSeen(name, used_ms, ours=True, stash=stash, unsaved=unsaved, dirty=dirty)

    def _is_dirty(self, path: Path, view: View, refs: dict[str, str]) -> bool:
        """Held against its HEAD by a git that knows the base's objects and this work tree, and
        nothing that stands in the tree's own git folder."""
        if is_half_way(path / ".git") or own_repositories(path / ".git"):
            return True
        head = refs.get(HEADS)
        if head is None:
            raise Unreadable("its HEAD leads to no commit")
        (view.folder / "HEAD").write_text(f"{head}\n")
        over = view.over(path, view.folder / "index")
        over.run("read-tree", head, timeout_s=LONG_S)
        if any(_holds_something(path / each) for each in _gitlinks(over.run("ls-files", "-sz"))):
            return True
        words = ("--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all")
        return bool(over.run("status", *words, "--no-renames", timeout_s=LONG_S))

    def _held(self, path: Path) -> str:
        if is_locked(path):
            return "a session works in it"
        return held_by_git(path / ".git")

    def _used_ms(self, name: str) -> int:
        try:
            return (self.folder / RECORDS / f"{name}.json").lstat().st_mtime_ns // 1_000_000
        except OSError:
            return 0

    # --- removing ----------------------------------------------------------------------------

    def remove(self, name: str, judged: TreeSeen, saved: Saved = NO_BUNDLES) -> str:
        """Remove a tree that may go, if it is still as it was `judged`. Empty: it is gone; else why
        it stays. Its branch stays in the base."""
        path, gone = self.path(name), f"{GONE}{name}"
        known, why = self.record(name), kept_because(judged, {})
        if why or known is None:
            return why or "nothing is noted of it any more"
        try:
            with self._locked(Path(known.repository)):
                if self.look(name, saved) != judged:
                    return "it was just used"
                with lock_folder(path, "tree"):
                    remove_own(self.folder, gone)
                    path.rename(self.folder / gone)
                remove_own(self.folder, gone)
                (self.folder / RECORDS / f"{name}.json").unlink(missing_ok=True)
        except (ColonyError, OSError) as problem:
            return str(problem)
        return ""

    def sweep(self) -> None:
        """Remove what an interrupted removal left behind."""
        try:
            left = [each.name for each in self.folder.iterdir() if each.name.startswith(GONE)]
        except OSError:
            return
        for name in left:
            remove_own(self.folder, name)

    # --- branches of the base ----------------------------------------------------------------

    def take(self, repository: Path, bundle: Path, branch: str, note: str) -> str:
        """`bundles.take_branch`, one at a time."""
        base = self._repository(repository)
        with self._locked(base.shared):
            return take_branch(base, bundle, branch, note)

    def plan(self, repository: Path, into: str, tip: str, message: str) -> Planned | Conflicts:
        """`merging.plan`, one at a time."""
        base = self._repository(repository)
        with self._locked(base.shared):
            return merging.plan(base, into, tip, message)

    def move(self, repository: Path, into: str, planned: Planned, note: str) -> str:
        """`merging.move`, one at a time."""
        base = self._repository(repository)
        with self._locked(base.shared):
            return merging.move(base, into, planned, note)

    def went_on(self, repository: Path, into: str, old: str) -> bool:
        """The branch is there, and leads to another commit than `old`."""
        return self._repository(repository).branch(into) not in (None, old)

    # --- a repository ------------------------------------------------------------------------

    def repository(self, name: str) -> Repository:
        """The base of a tree. `Refused`: nothing is noted of the tree, or the base is gone."""
        known = self.record(name)
        if known is None:
            raise Refused(f"{self.path(name)}: nothing is noted of this tree")
        return self._repository(Path(known.repository))

    def base(self, top: Path) -> Repository:
        """The repository at `top`. `Refused`."""
        return self._repository(top)

    def locked(self, base: Repository) -> Lock:
        """One at a time writes in a repository. `Busy`."""
        return self._locked(base.shared)

    def _repository(self, top: Path) -> Repository:
        return Repository.at(Git(self.clock, self.search), top)

    def _locked(self, shared: Path) -> Lock:
        digest = hashlib.sha256(os.fsencode(shared)).hexdigest()[:16]
        lock = self.folder / RECORDS / f"{digest}.lock"
        return lock_file(lock, f"the repository {shared}", LOCK_WAIT_S)


def _gitlinks(listed: str) -> Iterator[str]:
    for line in listed.split("\0"):
        found = re.match(r"160000 [0-9a-f]+ \d\t", line)
        if found:
            yield line[found.end() :]


def _holds_something(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False
