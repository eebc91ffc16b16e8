"""The base repository of a project: its refs, and a view of its objects that obeys nothing in it.

What is more than names of refs is asked of a view: a git folder that Colony makes for the moment,
with an empty configuration, the same refs, and the base's objects borrowed. So no filter, driver,
helper or hook of the base is known to the git that reads, and nothing is written by accident.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.lines import clip
from colony.errors import Refused
from colony.host.call import CallResult
from colony.host.files import Unsafe, read_bytes
from colony.host.git import QUICK_S, Git, GitFailed, why

CONFIG: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
NONE: Final = "0" * 40
"""The commit of a ref that must not be there."""
KEPT: Final = ("refs/heads", "refs/remotes", "refs/tags")
"""What is in these is saved."""

_POINTER_MAX: Final = 4096
_SHALLOW_MAX: Final = 16 * 1024 * 1024
_BORROWED_MAX: Final = 5
"""Repositories in a row that borrow from each other; git follows as many."""


@dataclass(frozen=True, slots=True)
class Repository:
    """`top` is its work tree, or the repository itself where it is bare."""

    git: Git
    top: Path
    folder: Path
    """Its git folder: where HEAD and the index are."""
    shared: Path
    """Its git folder, or that of the repository of which it is a work tree: refs and objects."""
    bare: bool

    @classmethod
    def at(cls, git: Git, top: Path) -> Repository:
        """`Refused`: there is none in this very folder, or one that cannot be used."""
        top = top.resolve()
        bare = not os.path.lexists(top / ".git")
        folder = top if bare else _pointed(top / ".git", "gitdir: ")
        shared = _pointed(folder / "commondir", "") if _is_there(folder / "commondir") else folder
        if not (shared / "objects").is_dir() or not _is_there(folder / "HEAD"):
            raise Refused(f"{top} is no git repository (or not its top folder)")
        return cls(git, top, folder, shared, bare)

    @property
    def objects(self) -> Path:
        return self.shared / "objects"

    def _ask(self, *args: str) -> CallResult:
        return self.git.ask(*args, cwd=self.top, env={"GIT_DIR": str(self.folder)})

    def head(self) -> str | None:
        """The branch that is checked out; None: HEAD is on no branch."""
        done = self._ask("symbolic-ref", "-q", "HEAD")
        name = done.stdout.decode("utf-8", "replace").strip()
        return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None

    def refs(self) -> dict[str, str]:
        """Name -> commit or tag, of branches, of remotes' branches, of tags."""
        done = self._ask("for-each-ref", "--format=%(objectname) %(refname)", *KEPT)
        if done.exit.code != 0 or done.timed_out or done.cut:
            raise GitFailed(f"{self.top}: its refs cannot be read: {why(done)}")
        lines = done.stdout.decode("utf-8", "surrogateescape").splitlines()
        pairs = (line.split(" ", 1) for line in lines)
        return {name: commit for commit, name in pairs}

    def branch(self, name: str) -> str | None:
        """The commit of a branch; None: there is no such branch."""
        return self.refs().get(f"refs/heads/{name}")

    def set_branch(self, name: str, new: str, old: str, note: str) -> None:
        """Compare and set. `GitFailed`: it is another commit than `old` by now (`NONE`: it must not
        be there), or is locked."""
        done = self._ask("update-ref", "--no-deref", "-m", note, f"refs/heads/{name}", new, old)
        if done.exit.code != 0 or done.timed_out:
            raise GitFailed(f"branch {name} of {self.top}: not moved: {why(done)}")

    def checked_out(self) -> dict[str, Path]:
        """Branch -> the folder in which it is checked out, of this repository's work trees."""
        done = self._ask("worktree", "list", "--porcelain", "-z")
        if done.exit.code != 0 or done.timed_out:
            raise GitFailed(f"{self.top}: its work trees cannot be listed: {why(done)}")
        found: dict[str, Path] = {}
        at, bare = Path(), False
        for word in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
            key, _, value = word.partition(" ")
            if key == "worktree":
                at, bare = Path(value), False
            elif key == "bare":
                bare = True
            elif key == "branch" and not bare:
                found[value.removeprefix("refs/heads/")] = at
        return found

    @contextlib.contextmanager
    def view(self, *, into_base: bool = False) -> Iterator[View]:
        """For the moment. What is written in it goes with it, or with `into_base` to the base's
        objects, where nothing leads to it yet."""
        with tempfile.TemporaryDirectory(prefix="colony-git-") as made:
            folder = Path(made).resolve()
            for name in ("objects/info", "objects/pack", "refs"):
                (folder / name).mkdir(parents=True)
            (folder / "config").write_text(CONFIG)
            (folder / "HEAD").write_text("ref: refs/heads/none\n")
            (folder / "objects/info/alternates").write_text(borrowed_line(self.objects))
            lines = (f"{commit} {name}\n" for name, commit in self.refs().items())
            (folder / "packed-refs").write_text("".join(lines), errors="surrogateescape")
            shallow = shallow_of(self.shared)
            if shallow:
                (folder / "shallow").write_bytes(shallow)
            more = {"GIT_OBJECT_DIRECTORY": str(self.objects)} if into_base else {}
            yield View(self.git, folder, {"GIT_DIR": str(folder), **more})


@dataclass(frozen=True, slots=True)
class View:
    """See `Repository.view`."""

    git: Git
    folder: Path
    env: Mapping[str, str]

    def ask(self, *args: str, timeout_s: float = QUICK_S, stdin: int | None = None) -> CallResult:
        return self.git.ask(*args, cwd=self.folder, env=self.env, timeout_s=timeout_s, stdin=stdin)

    def run(self, *args: str, timeout_s: float = QUICK_S, stdin: int | None = None) -> str:
        """As `Git.run`, its output as text without the last line's end."""
        out = self.git.run(*args, cwd=self.folder, env=self.env, timeout_s=timeout_s, stdin=stdin)
        return out.decode("utf-8", "surrogateescape").rstrip("\n")

    def over(self, tree: Path, index: Path) -> View:
        """The same, with a work tree to be compared with, and its index."""
        env = {**self.env, "GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": str(index)}
        return View(self.git, tree, env)

    def is_ancestor(self, old: str, new: str) -> bool:
        """Both commits are there, and `old` is in the history of `new`."""
        return self.ask("merge-base", "--is-ancestor", old, new).exit.code == 0

    def is_saved(self, *commits: str) -> bool:
        """Each is in the history of a ref; False also for one that is not there at all."""
        done = self.ask("rev-list", "--max-count=1", *commits, "--not", "--all", "--")
        return done.exit.code == 0 and not done.timed_out and not done.stdout


def borrowed_line(objects: Path) -> str:
    """The line of `objects/info/alternates`. `Refused`: no such file can name this path."""
    text = str(objects)
    if "\n" in text or text.startswith(("#", '"')):
        raise Refused(f"{clip(text, 200)}: git cannot borrow from a folder of that name")
    return f"{text}\n"


def objects_of(top: Path) -> tuple[Path, ...]:
    """Folders from which whoever borrows from the repository at `top` reads objects; none where
    there is no repository."""
    try:
        folder = top if not os.path.lexists(top / ".git") else _pointed(top / ".git", "gitdir: ")
        shared = _pointed(folder / "commondir", "") if _is_there(folder / "commondir") else folder
        return tuple(dict.fromkeys(_borrowed(shared / "objects", _BORROWED_MAX)))
    except Refused:
        return ()


def shallow_of(shared: Path) -> bytes:
    """Where its history was cut off when it was cloned; empty: it is whole."""
    return read_bytes(shared / "shallow", _SHALLOW_MAX) or b""


def _borrowed(objects: Path, depth: int) -> Iterator[Path]:
    if not objects.is_dir():
        return
    yield objects.resolve()
    text = (read_bytes(objects / "info" / "alternates", _POINTER_MAX * 16) or b"").decode(
        "utf-8", "surrogateescape"
    )
    for line in text.splitlines() if depth else ():
        if line and not line.startswith(("#", '"')):
            yield from _borrowed(objects / line, depth - 1)


def _pointed(path: Path, before: str) -> Path:
    """The folder itself, or the one that the file at `path` names."""
    if path.is_dir():
        return path.resolve()
    try:
        text = (read_bytes(path, _POINTER_MAX) or b"").decode("utf-8", "surrogateescape").rstrip()
    except Unsafe as problem:
        raise Refused(problem.line) from None
    if not text.startswith(before) or not text.removeprefix(before):
        raise Refused(f"{path}: names no git folder")
    return (path.parent / text.removeprefix(before)).resolve()


def _is_there(path: Path) -> bool:
    return path.is_file()
