"""Options that verbs share, each declared once.

An option of the settings table is a text: `config.read` alone says what can be used.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Annotated, Any, Final

import typer

from colony.core.settings import BY_NAME

LEASE: Final = ("lease_ttl", "heartbeat")
CONTROLLER: Final = (
    "controller_model",
    "controller_max_turns",
    "controller_timeout",
    "controller_claude",
    "max_fails",
)
FINALIZE: Final = ("finalize_max_turns", "finalize_timeout")
RUN: Final = (
    "interval",
    "parallel",
    "reserve",
    "week_limit",
    "quota_claude",
    "stop_finish_seconds",
    "hours",
    "port_pool",
    "ports_per_session",
)
"""What the loop takes beside what its sessions take."""
WORK: Final = (
    "intake",
    "sandbox",
    "sandbox_ro",
    "allowed_tools",
    "agent",
    "claude",
    "stand_in_script",
    "model",
    "max_turns",
    "permission_mode",
    "timeout",
    "max_budget_usd",
    "ports",
    *FINALIZE,
    "stall_seconds",
    "crash_resumes",
    "session_memory_max_mb",
    "session_pids_max",
    "max_starts_per_hour",
    "max_attempts",
    "max_half_done",
    "max_cost_per_day",
    "max_cost_per_ticket",
    "max_review",
    "capabilities",
    *CONTROLLER,
    *LEASE,
)
"""What `work` takes, and whatever starts one."""

PLAIN: Final = frozenset({"public_read"})
"""Switches that are options without a value: to give one is to turn it on."""

Post = Annotated[bool, typer.Option("--post", help="Write the outcome into the tracker.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything, write nothing, start nothing.")
]

Project = Annotated[str, typer.Argument(metavar="P", help="Project.")]
Number = Annotated[str, typer.Argument(metavar="N", help="Number of the ticket.")]


def parameters(names: Iterable[str]) -> list[inspect.Parameter]:
    """Typer parameters for settings: `--max-turns TEXT`, with variable and default in the help."""
    return [_parameter(name) for name in names]


def hidden(names: Iterable[str]) -> list[inspect.Parameter]:
    """The same options, left out of the help."""
    return [_parameter(name, listed=False) for name in names]


def always() -> list[inspect.Parameter]:
    """What every command takes."""
    as_json = typer.Option("--json", help="Print JSON lines.", rich_help_panel="Everywhere")
    return [
        _parameter("home"),
        _keyword("json", Annotated[bool, as_json], False),
    ]


def text_of(given: object) -> str | None:
    """An option as `config.read` takes it; None: it was not given."""
    if isinstance(given, bool):
        return "on" if given else None
    return None if given is None else str(given)


def _parameter(name: str, *, listed: bool = True) -> inspect.Parameter:
    setting = BY_NAME[name]
    default = f", default {setting.default}" if setting.default else ""
    told = f"{setting.help[0].upper()}{setting.help[1:]}. [{setting.variable}{default}]"
    if name in PLAIN:
        plain = typer.Option(setting.flag, help=told, show_default=False, hidden=not listed)
        return _keyword(name, Annotated[bool, plain], False)
    option = typer.Option(
        setting.flag, metavar="VALUE", help=told, show_default=False, hidden=not listed
    )
    return _keyword(name, Annotated[str | None, option], None)


def _keyword(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
