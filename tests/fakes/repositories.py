"""Scratch git repositories, made by the git of the machine as its users would."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "anna",
    "GIT_AUTHOR_EMAIL": "anna@localhost",
    "GIT_COMMITTER_NAME": "anna",
    "GIT_COMMITTER_EMAIL": "anna@localhost",
}


def git(at: Path, *args: str, data: bytes | None = None, **env: str) -> str:
    """What git printed. CalledProcessError."""
    words = ("git", "-c", "protocol.file.allow=always", *args)
    done = subprocess.run(
        words, cwd=at, env={**ENV, **env}, input=data, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "replace").strip()


def new(at: Path, files: Mapping[str, str] | None = None) -> Path:
    """A repository on branch `main` with one commit."""
    at.mkdir(parents=True)
    git(at, "init", "-q", "--initial-branch=main")
    commit(at, files or {"gate.txt": "closed\n", "fence.txt": "green\n"})
    return at


def write(at: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(at: Path, files: Mapping[str, str], message: str = "change") -> str:
    """The commit that has these files written."""
    write(at, files)
    git(at, "add", "-A")
    git(at, "commit", "-q", "--no-verify", "-m", message)
    return git(at, "rev-parse", "HEAD")


def refs(at: Path) -> dict[str, str]:
    lines = git(at, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines)  # type: ignore[misc]


def bundle(tree: Path, to: Path, *what: str) -> Path:
    git(tree, "bundle", "create", "-q", str(to), *what)
    return to
