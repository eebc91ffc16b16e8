"""`colony tracker project`, `projects`, `member`: the tracker's projects, and who may do what."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Final

import typer

from colony.cli.looking import looking
from colony.cli.opening import as_person, new_key
from colony.cli.show import Row
from colony.cli.tracker.group import app
from colony.cli.verb import Context, verb
from colony.core.lines import Json, Line
from colony.core.spelling import hint
from colony.core.ticket import ROLES, ProjectInfo, Role
from colony.errors import UsageProblem

COLUMNS: Final = ("project", "tickets", "members")


@verb(app)
def project(
    context: Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits, '.', '-'.")],
) -> None:
    """Make a project in the tracker; you are its admin."""
    with as_person(context, create=True) as tracker:
        there = name in tracker.projects()
        info = tracker.add_project(name, key=new_key())
    word = "is there already" if there else "made"
    facts = {**_facts(info), "fresh": not there}
    context.show.line(Line("project", f"{name} {word} — {_members(info)}", facts=facts))


@verb(app)
def projects(context: Context) -> None:
    """List the tracker's projects, their tickets and members."""
    with looking(context) as reads:
        counts = reads.projects()
        found = [reads.project(name) for name in counts]
    rows = []
    for info in found:
        states = counts[info.name]
        tickets = ", ".join(f"{count} {state}" for state, count in states.items()) or "no ticket"
        counted: dict[str, Json] = dict(states.items())
        facts: dict[str, Json] = {**_facts(info), "tickets": counted}
        line = Line("project", f"{info.name} — {tickets} — {_members(info)}", facts=facts)
        rows.append(Row(line, (info.name, tickets, _members(info))))
    context.show.table(COLUMNS, rows)
    if not rows:
        context.show.line(Line("note", "no project yet: colony tracker project NAME makes one"))


@verb(app)
def member(
    context: Context,
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="As tracker projects lists.")],
    who: Annotated[str, typer.Argument(metavar="USER", help="A person; made where missing.")],
    role: Annotated[
        str | None, typer.Argument(metavar="ROLE", help=f"One of {', '.join(ROLES)}.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="USER has no role any more.")] = False,
) -> None:
    """Give a person a role in a project, or take it away.

    admin accepts results and changes members; edit writes tickets and moves them; use opens
    tickets and comments.
    """
    if remove == (role is not None):
        raise UsageProblem(f"give a role ({', '.join(ROLES)}), or --remove")
    wanted = None if role is None else _role(role)
    with as_person(context) as tracker:
        seen = {each.user for name in tracker.projects() for each in tracker.project(name).members}
        info = tracker.set_member(project, who, wanted, key=new_key())
    had = who in seen
    said = f"{who} has no role" if wanted is None else f"{who} has the role {wanted}"
    said = f"{said} in {project}{'' if had or wanted is None else ' (had none in this tracker)'}"
    facts = {**_facts(info), "user": who, "role": wanted, "had_role": had}
    context.show.line(Line("member", said, facts=facts))


def _role(word: str) -> Role:
    for role in ROLES:
        if role == word:
            return role
    raise UsageProblem(f"role {word}: must be one of {', '.join(ROLES)}{hint(word, ROLES)}")


def _members(info: ProjectInfo) -> str:
    """`admin anna, bob; edit carl`."""
    names: dict[str, list[str]] = defaultdict(list)
    for each in info.members:
        names[each.role].append(each.user)
    return "; ".join(f"{role} {', '.join(names[role])}" for role in ROLES if names[role])


def _facts(info: ProjectInfo) -> dict[str, Json]:
    members: list[Json] = [{"user": each.user, "role": each.role} for each in info.members]
    return {"project": info.name, "members": members}
