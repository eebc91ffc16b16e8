"""This place: the name of the host, and of the user Colony runs as."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path
from typing import Final

from colony.core.ticket import HOST_PATTERN
from colony.errors import ColonyError
from colony.host.files import read_text

_HOST: Final = re.compile(HOST_PATTERN, re.ASCII)


def host_name(file: Path = Path("/etc/hostname")) -> str:
    """What this host is called: by the first line of `file`, else as the kernel says."""
    for name in (_first_line(file), os.uname().nodename):
        if _HOST.fullmatch(name):
            return name
    return "localhost"


def login_name() -> str:
    """The name of the user whose rights this process has; the number where it has no name."""
    user = os.geteuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _first_line(file: Path) -> str:
    try:
        text = read_text(file, 4096) or ""
    except ColonyError:
        return ""
    return text.partition("\n")[0].strip()
