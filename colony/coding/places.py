"""Where a program's files lie: what a box must show so that it can be started."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_SHEBANG: Final = re.compile(rb"#!\s*(\S+)(?:\s+(?:-S\s+)?(\S+))?")


def program_places(program: str, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The program's file as it is named and as links lead, the package that it came in, and the
    interpreter that its first line names. Nothing where there is no such program."""
    path = environ.get("PATH", PATH)
    found = shutil.which(program, path=path)
    return tuple(dict.fromkeys(_places(Path(found).absolute(), path))) if found else ()


def _places(found: Path, path: str) -> Iterator[Path]:
    real = found.resolve()
    yield from (found, real)
    packages = [each for each in real.parents if each.name == "node_modules"]
    if packages:
        # A package's parts lie beside each other, in the outermost of such folders.
        yield packages[-1]
    interpreter = _interpreter(real, path)
    if interpreter is not None:
        yield from (interpreter, interpreter.resolve())


def _interpreter(program: Path, path: str) -> Path | None:
    try:
        with program.open("rb") as file:
            first = _SHEBANG.match(file.readline(256))
    except OSError:
        return None
    if first is None:
        return None
    name = first[2] if Path(first[1].decode("utf-8", "replace")).name == "env" else first[1]
    found = shutil.which((name or b"").decode("utf-8", "replace"), path=path)
    return Path(found).absolute() if found else None
