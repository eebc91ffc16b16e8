"""What makes a tree ready: the hash of its commands and lock files, by which it is done once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

LOCK_FILES: Final = (
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
    "bun.lockb", "deno.lock", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock",
    "requirements.txt", "pylock.toml", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock",
    "mix.lock", "pubspec.lock", "gradle.lockfile", "packages.lock.json", "Package.resolved",
    "Podfile.lock", "flake.lock", "conan.lock", "MODULE.bazel.lock", "stack.yaml.lock",
)  # fmt: skip
"""In the top folder of a tree: they say what is installed."""


def stamp_of(commands: Sequence[str], files: Mapping[str, bytes]) -> str:
    """Hex. The same commands over the same lock files have been run before."""
    hashed = hashlib.sha256()
    parts = [*(each.encode() for each in commands), b"", *_flat(files)]
    for part in parts:
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.hexdigest()


def _flat(files: Mapping[str, bytes]) -> list[bytes]:
    return [part for name in sorted(files) for part in (name.encode(), files[name])]
