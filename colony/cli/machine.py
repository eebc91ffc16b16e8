"""What the settings fall back to on this machine, and the `.env` of the home."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Final

from colony.config import Machine
from colony.errors import UsageProblem
from colony.host.files import read_text
from colony.host.place import host_name, login_name

PACKAGE: Final = Path(__file__).resolve().parents[1]
ENV_BYTES_MAX: Final = 256 * 1024


def this_machine(environ: Mapping[str, str]) -> Machine:
    """UsageProblem where the current folder is gone."""
    beside = PACKAGE.parent
    inside = PACKAGE / "templates"
    try:
        cwd = Path.cwd()
    except OSError:
        raise UsageProblem("the current folder does not exist any more") from None
    return Machine(
        cwd=cwd,
        user_home=Path(environ.get("HOME") or "/"),
        login=login_name(),
        host=host_name(),
        templates=inside if inside.is_dir() else beside / "templates",
        has_zone=_has_zone,
        checkout=beside if (beside / "colony.sh").is_file() else None,
    )


def env_text(home: Path) -> str:
    """The text of the home's `.env`; empty where there is none."""
    return read_text(home / ".env", ENV_BYTES_MAX) or ""


def zone(name: str) -> tzinfo:
    """The time zone of that name; KeyError, ValueError or OSError where there is none."""
    # The database's reader costs as much as ten small modules, and few commands need it.
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    return ZoneInfo(name)


def _has_zone(name: str) -> bool:
    if name == "UTC":
        return True
    try:
        zone(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
