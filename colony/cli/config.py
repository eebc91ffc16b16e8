"""`colony config`: each setting, its value, and where that comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from colony.cli.machine import env_text
from colony.cli.show import Row
from colony.cli.verb import Start, early_verb, verbs
from colony.config import shown
from colony.core.lines import Json, Line
from colony.core.settings import SETTINGS
from colony.core.spelling import hint
from colony.errors import UsageProblem

app = verbs()

COLUMNS: Final = ("setting", "from", "value")
"""The value stands last: on a terminal the last column alone is broken into lines, not cut."""
NAMES: Final = {setting.name: setting for setting in SETTINGS}

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Only these: max-turns or COLONY_MAX_TURNS."),
]
Changed = Annotated[bool, typer.Option("--changed", help="Only those that are not the default.")]


@early_verb(app, tuple(name for name in NAMES if name != "home"))
def config(start: Start, names: Names = None, changed: Changed = False) -> int:
    """Show each setting, its value, and where that comes from.

    A setting's option can be tried here: colony config --max-turns 5 max-turns.
    """
    wanted = _wanted(names or ())
    found = listed(start)
    rows = [
        row
        for row in found.rows
        if row.setting.name in wanted and not (changed and row.source == "default")
    ]
    start.show.table(COLUMNS, [_drawn(row) for row in rows])
    start.warn()
    for row in found.rows:
        if row.replaced and row.setting.name in wanted:
            start.show.problem(Line("warning", row.replaced))
    refused = [*found.problems, *(row.problem for row in rows if row.problem)]
    for each in refused:
        start.show.problem(Line("error", each, facts={"code": "usage", "exit": 2}))
    return 2 if refused else 0


def listed(start: Start) -> shown.Listing:
    """All settings as they stand, whatever of them cannot be used."""
    home = shown.listing(start.flags, start.environ, "", start.machine).rows[0]
    text = env_text(start.machine.cwd / home.text)
    return shown.listing(start.flags, start.environ, text, start.machine)


def _wanted(names: Sequence[str]) -> frozenset[str]:
    """The settings' own names; all of them where none is asked for."""
    known = {name.replace("_", "-"): name for name in NAMES}
    known |= {setting.variable: setting.name for setting in SETTINGS}
    for name in names:
        if name.replace("_", "-") not in known and name not in known:
            raise UsageProblem(f"{name}: no setting is called so{hint(name, known)}")
    asked = {known.get(name) or known[name.replace("_", "-")] for name in names}
    return frozenset(asked or NAMES)


def _drawn(row: shown.Row) -> Row:
    setting = row.setting
    shown = setting.shown(row.text)
    name = setting.flag.removeprefix("--")
    source = f"{row.source} (cannot be used)" if row.problem else row.source
    if row.replaced:
        source = f"{row.source} ({setting.variable} cannot be used)"
    facts: dict[str, Json] = {
        "setting": name,
        "variable": setting.variable,
        "value": shown,
        "source": row.source,
        "usable": not (row.problem or row.replaced),
    }
    cells = (name, source, shown or "-")
    return Row(Line("config", f"{name} {shown or '-'} — {source}", facts=facts), cells)
