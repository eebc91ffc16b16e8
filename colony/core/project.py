"""A project as its registry file describes it (`projects/<name>.json`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from colony.core.lines import clip
from colony.core.spelling import hint
from colony.core.ticket import NAME_PATTERN

PERMISSION_MODES: Final = ("auto", "acceptEdits", "default", "dontAsk", "plan", "manual")
"""What a session may be run with; `bypassPermissions` never is."""

AGENTS: Final = ("claude", "stand-in")

SECONDS_MAX: Final = 31_536_000
TURNS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Project:
    """Every key of the registry, with its default. Paths are as written: relative ones are taken
    from the folder of the registry's home, `concept` from the dev folder."""

    name: str
    concept: str = ""
    dev_folder: str = ""
    dev_host: str = ""
    """Empty: whichever host reads the file."""
    code: str = ""
    live_url: str = ""
    live_folder: str = ""
    deploy: str = ""
    note: str = ""
    depends_on: tuple[str, ...] = ()
    workers: bool = True
    ui: bool = False
    needs: tuple[str, ...] = ()
    agent: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    max_turns: int | None = None
    timeout: int | None = None
    account: str | None = None
    allowed_tools: tuple[str, ...] = ()
    project_settings: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    network: Literal["open", "none"] | tuple[str, ...] = "open"
    userns: bool = False
    writable: tuple[str, ...] = ()
    worktrees: bool = False
    repo: str = ""
    base: str = ""
    setup: tuple[str, ...] = ()
    merge: Literal["pass", "done", "never"] = "done"
    result: Literal["ticket", "pull-request"] = "ticket"

    @property
    def live(self) -> bool:
        """True: built work waits for a deploy before a person is asked to try it."""
        return bool(self.live_url)


Problems = tuple[str, ...]
"""Why a file cannot be used: one line each, never none."""


def parse(data: object, name: str) -> Project | Problems:
    """The project that a registry file of this name holds, or every problem with its key."""
    if not isinstance(data, dict):
        return ("not a JSON object",)
    values, problems = _read(data, KEYS, "")
    if "name" in values and values["name"] != name:
        problems.append(f"name: is {values['name']!r}, but the file is {name}.json")
    if not problems and values.get("workers", True) and not {"dev_folder", "repo"} & set(values):
        problems.append("dev is missing (where workers work; not needed with repo)")
    if problems:
        return tuple(problems)
    values.setdefault("merge", "pass" if "live_url" in values else "done")
    return Project(**values)


# --- the keys -----------------------------------------------------------------------------


class _Wrong(ValueError):
    """The value of a key cannot be used; the text follows the key."""


Read = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the file: the field it fills, and its reader, or the keys inside it."""

    field: str
    read: Read | Mapping[str, Key]
    required: bool = False


def _read(
    data: Mapping[str, object], keys: Mapping[str, Key], at: str
) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in data.items():
        known = keys.get(key)
        if known is None:
            where = f"{at.rstrip('.')}: " if at else ""
            problems.append(f"{where}unknown key {clip(key, 60)!r}{hint(key, keys)}")
        elif not isinstance(known.read, Mapping):
            try:
                values[known.field] = known.read(value)
            except _Wrong as wrong:
                problems.append(f"{at}{key}: {wrong}")
        elif isinstance(value, dict):
            inner, more = _read(value, known.read, f"{at}{key}.")
            values |= inner
            problems += more
        else:
            problems.append(f"{at}{key}: must be an object")
    problems += [f"{at}{key} is missing" for key in keys if keys[key].required and key not in data]
    return values, problems


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Wrong("must be a text")
    if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise _Wrong("holds a character that is none")
    return value


def _line(value: object) -> str:
    """One line with something in it; never an option, since some of these end on command lines."""
    text = _text(value)
    if not text.strip() or text != text.strip() or not text.isprintable():
        raise _Wrong("must be one line of text, without blanks around it")
    if text.startswith("-"):
        raise _Wrong("must not begin with '-'")
    return text


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("must be true or false")
    return value


def _matches(pattern: str, what: str) -> Read:
    def read(value: object) -> str:
        text = _text(value)
        if re.fullmatch(pattern, text, re.ASCII) is None:
            raise _Wrong(f"must be {what}")
        return text

    return read


def _one_of(*words: str) -> Read:
    def read(value: object) -> str:
        text = _text(value)
        if text not in words:
            raise _Wrong(f"must be one of {', '.join(words)}{hint(text, words)}")
        return text

    return read


def _count(most: int) -> Read:
    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise _Wrong(f"must be a whole number from 1 to {most}")
        return value

    return read


def _list(read_one: Read) -> Read:
    def read(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise _Wrong("must be a list")
        out = tuple(read_one(each) for each in value)
        if len(set(out)) < len(out):
            raise _Wrong("names something twice")
        return out

    return read


def _credentials(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise _Wrong("must be an object")
    for name, source in value.items():
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII) is None:
            raise _Wrong(f"{clip(name, 40)!r} is no name of a variable")
        if name.upper().startswith("COLONY_"):
            raise _Wrong(f"{name}: names that begin with COLONY_ are Colony's own")
        if not _line(source).startswith("file:") or source == "file:":
            raise _Wrong(f'{name}: must be "file:PATH"')
    return dict(value)


def _network(value: object) -> object:
    return value if value in ("open", "none") else _list(_HOST)(value)


_NAME: Final = _matches(NAME_PATTERN, "a name of small letters, digits, '.' and '-' (64 at most)")
_HOST: Final = _matches(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", "a host name")
_URL: Final = _matches(r"https?://[^\s/?#]+[!-~]*", "an http or https address")

KEYS: Final[Mapping[str, Key]] = {
    "name": Key("name", _NAME, required=True),
    "concept": Key("concept", lambda value: value if value == "" else _line(value)),
    "dev": Key("", {"folder": Key("dev_folder", _line, True), "host": Key("dev_host", _line)}),
    "code": Key("code", _line),
    "live": Key("", {"url": Key("live_url", _URL, True), "folder": Key("live_folder", _line)}),
    "deploy": Key("deploy", _text),
    "note": Key("note", _text),
    "dependsOn": Key("depends_on", _list(_NAME)),
    "workers": Key("workers", _flag),
    "ui": Key("ui", _flag),
    "needs": Key("needs", _list(_matches(r"[a-z0-9][a-z0-9._-]{0,63}", "a word of small letters"))),
    "agent": Key("agent", _one_of(*AGENTS)),
    "model": Key("model", _line),
    "permissionMode": Key("permission_mode", _one_of(*PERMISSION_MODES)),
    "maxTurns": Key("max_turns", _count(TURNS_MAX)),
    "timeout": Key("timeout", _count(SECONDS_MAX)),
    "account": Key("account", _line),
    "allowedTools": Key("allowed_tools", _list(_line)),
    "projectSettings": Key("project_settings", _flag),
    "env": Key("env", _credentials),
    "network": Key("network", _network),
    "userns": Key("userns", _flag),
    "writable": Key("writable", _list(_line)),
    "worktrees": Key("worktrees", _flag),
    "repo": Key("repo", _line),
    "base": Key("base", _line),
    "setup": Key("setup", _list(_text)),
    "merge": Key("merge", _one_of("pass", "done", "never")),
    "result": Key("result", _one_of("ticket", "pull-request")),
}
"""The file's keys, in the order in which they are best read."""
