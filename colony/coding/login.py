"""Which login Claude Code would use: the first that its variables hold, else the stored one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

LOGIN_VARIABLES: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLOUD_VARIABLES: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
"""Say that a cloud's own login is used; its variables are named in `COLONY_PASS_ENV`."""
LOGIN_WORDS: Final[Mapping[str, str]] = {
    "CLAUDE_CODE_USE_BEDROCK": "Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Vertex",
    "ANTHROPIC_AUTH_TOKEN": "bearer token",
    "ANTHROPIC_API_KEY": "API key",
    "CLAUDE_CODE_OAUTH_TOKEN": "long-lived token",
}
"""What a login from the environment is called; the program takes the first that is set."""
STORED: Final = "stored login"
STORED_MAX: Final = 64 * 1024 * 1024
"""Bytes read of a file of the login folder; the general one grows with each project."""
NAME_DIGITS: Final = 8
"""Hexadecimal digits that tell two accounts of one person apart, and no secret."""


def login_from_environment(environ: Mapping[str, str]) -> bool:
    """Is there a key, a token or a cloud's login in the variables? An empty one is none."""
    return bool(_variable(environ))


def login_word(environ: Mapping[str, str]) -> str:
    """The kind of login in plain words."""
    return LOGIN_WORDS.get(_variable(environ), STORED)


def login_folder(environ: Mapping[str, str]) -> Path | None:
    """Where a stored login would lie; None where the variables name no home."""
    if environ.get("CLAUDE_CONFIG_DIR"):
        return Path(environ["CLAUDE_CONFIG_DIR"])
    return Path(environ["HOME"]) / ".claude" if environ.get("HOME") else None


def general_file(environ: Mapping[str, str]) -> Path:
    """The program's general configuration, which lies beside a login's folder that is not named."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or environ["HOME"]) / ".claude.json"


def holds_login(folder: Path) -> bool:
    """A login that could be used: its token may have expired, which only a call can tell."""
    return bool(_subscription(folder)) or _holds_key(folder)


def tells_quota(environ: Mapping[str, str]) -> bool:
    """Could the program tell the quota of this login? It does so for a stored subscription only,
    for no key, and for no token from the environment."""
    if login_from_environment(environ):
        return False
    folder = login_folder(environ)
    return folder is None or bool(_subscription(folder)) or not _holds_key(folder)


def account_name(environ: Mapping[str, str]) -> str:
    """The account without its secret. A stored one's name outlives its tokens, a key's is a part
    of its SHA-256; of a cloud's login nothing but the cloud is known."""
    variable = _variable(environ)
    if variable in CLOUD_VARIABLES:
        digits = ""
    elif variable:
        digits = _digest(environ[variable])
    else:
        digits = _account_id(environ).lower()
    return " ".join(filter(None, (login_word(environ), digits[:NAME_DIGITS])))


def login_mark(environ: Mapping[str, str]) -> str:
    """A fingerprint of the login's material; another one means that somebody logged in anew, set
    another key, or that the program refreshed its token. Empty: there is no login."""
    variable = _variable(environ)
    if variable:
        return _digest(f"{variable}={environ[variable]}")
    folder = login_folder(environ)
    if folder is None or not holds_login(folder):
        return ""
    material = [_subscription(folder), _account_id(environ), *_keys(folder)]
    return _digest(json.dumps(material, sort_keys=True))


def _variable(environ: Mapping[str, str]) -> str:
    """The variable whose login the program takes; empty where none is set."""
    return next((name for name in LOGIN_WORDS if environ.get(name)), "")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _subscription(folder: Path) -> dict[str, object]:
    """A stored subscription's tokens; the file holds those of other services too."""
    login = _stored(folder / ".credentials.json").get("claudeAiOauth")
    if isinstance(login, dict) and (login.get("accessToken") or login.get("refreshToken")):
        return login
    return {}


def _holds_key(folder: Path) -> bool:
    return any(_keys(folder))


def _keys(folder: Path) -> tuple[object, ...]:
    """What stands for an API key in the files of the login folder."""
    general = (folder / ".claude.json", folder.parent / ".claude.json")
    return (
        _stored(folder / "settings.json").get("apiKeyHelper"),
        *(_stored(path).get("primaryApiKey") for path in general),
    )


def _account_id(environ: Mapping[str, str]) -> str:
    """The UUID of the stored login's account; empty where the program has not noted one."""
    home = environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME")
    account = _stored(Path(home) / ".claude.json").get("oauthAccount") if home else None
    found = account.get("accountUuid") if isinstance(account, dict) else None
    valid = isinstance(found, str) and re.fullmatch(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{4,40}", found)
    return str(found) if valid else ""


def _stored(path: Path) -> dict[str, object]:
    """A file of the login folder; empty where it is missing or unreadable."""
    try:
        with path.open("rb") as file:
            stored = json.loads(file.read(STORED_MAX))
    except (OSError, ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}
