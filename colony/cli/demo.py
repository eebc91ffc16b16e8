"""`colony demo`: three sample tickets worked to their end, without any account."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony import config
from colony.cli.cycle import choose, tell
from colony.cli.machine import env_text, this_machine
from colony.cli.opening import as_person, new_key
from colony.cli.sessions_desk import outfit_of, refusals
from colony.cli.ticket_view import show_history
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.session import Outcome
from colony.core.ticket import NewTicket, Ref
from colony.flow.starting import Order, work_on
from colony.flow.wiring.account import standing_of
from colony.flow.wiring.sessions import Outfit
from colony.flow.wiring.trackers import open_tracker

app = verbs()

PROJECT: Final = "shop"
TICKETS: Final = (
    (
        "Show prices in euros",
        "Customers do not count in cents: show 5.97 EUR instead of 597 cents.",
    ),
    ("Thank the customer after an order", "One friendly line is enough."),
    ("Offer a gift wrap", "It costs 2.50 EUR."),
)
SETTINGS: Final = {
    "COLONY_AGENT": "stand-in",
    "COLONY_STAND_IN_SCRIPT": "{home}/stand-in.json",
    "COLONY_MODEL": "scripted",
    "COLONY_CONTROLLER_MODEL": "scripted",
    "COLONY_SANDBOX": "off",
    "COLONY_GUARD": "off",
    "COLONY_PERSON": "creator",
}


@dataclass(frozen=True, slots=True)
class Act:
    """One ticket of the demonstration, and how its session has to end."""

    title: str
    number: int
    outcome: Outcome


ACTS: Final = (
    Act("1 of 3: the result holds when it is checked", 1, Outcome.POSTED),
    Act("2 of 3: the worker claims what it did not do", 2, Outcome.SENT_BACK),
    Act("3 of 3: the worker needs a decision", 3, Outcome.HALF_DONE),
)


@verb(app)
def demo(context: Context) -> int:
    """Work three sample tickets to their end with a scripted stand-in: no account, no model."""
    home = Path(tempfile.mkdtemp(prefix="colony-demo-"))
    text = f"a small shop, its tracker and three tickets, all in {home}"
    context.show.line(Line("demo", text, facts={"home": str(home)}))
    text = "the coding agent is a scripted STAND-IN: no model, no box, no guard, made-up costs"
    context.show.line(Line("demo", text))
    inside = _made(context, home)
    with refusals(inside, "work", None), outfit_of(inside, warn=False) as outfit:
        as_told = [_play(inside, outfit, act) for act in ACTS]
    _read_them(inside)
    _go_on(inside, home)
    return 0 if all(as_told) else 1


def _made(context: Context, home: Path) -> Context:
    """A home of its own: registry, settings, the shop's folder and its tickets."""
    source = context.settings.place.templates_dir / "demo"
    shutil.copytree(source / PROJECT, home / PROJECT)
    shutil.copyfile(source / "script.json", home / "stand-in.json")
    (home / "projects").mkdir(mode=0o700)
    entry = {"name": PROJECT, "dev": {"folder": PROJECT}, "concept": "CONCEPT.md"}
    (home / "projects" / f"{PROJECT}.json").write_text(json.dumps(entry, indent=2) + "\n")
    lines = [f"{name}={value.format(home=home)}\n" for name, value in SETTINGS.items()]
    (home / ".env").write_text("".join(lines))
    environ = _without_settings(context.environ)
    machine = this_machine(environ)
    read = config.read({"home": str(home)}, environ, env_text(home), machine)
    tracker = open_tracker(read, as_person=True, create=True)
    try:
        for subject, summary in TICKETS:
            tracker.create(NewTicket(PROJECT, subject, summary), key=new_key())
    finally:
        tracker.close()
    return replace(context, settings=read, environ=environ)


def _without_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The demo is the same wherever it runs: no setting of this shell reaches it."""
    return {name: value for name, value in environ.items() if not name.startswith("COLONY_")}


def _play(context: Context, outfit: Outfit, act: Act) -> bool:
    """One cycle with what it prints; False where it did not end as the act's title says."""
    _headline(context, act.title)
    if act.outcome is Outcome.HALF_DONE:
        _set_aside(context)
    standing = standing_of(outfit.settings, outfit.view.registry, outfit.environ)
    if choose(context, outfit, standing) != Ref(PROJECT, act.number):
        return False
    ended = work_on(outfit, Order(Ref(PROJECT, act.number), post=True))
    tell(context, ended)
    return ended.facts.outcome is act.outcome


def _set_aside(context: Context) -> None:
    """The ticket that was sent back would be next again: its creator lets another one pass."""
    with as_person(context) as tracker:
        tracker.comment(Ref(PROJECT, 2), "/prio low", key=new_key())
    text = "the creator writes a comment on shop#2: /prio low"
    context.show.line(Line("demo.text", text, f"{PROJECT}#2"))


def _read_them(context: Context) -> None:
    _headline(context, "what the creator reads")
    with as_person(context) as tracker:
        for row in tracker.tickets():
            context.show.gap()
            show_history(context.show, tracker.ticket(row.ref), "UTC", full=False)


def _go_on(context: Context, home: Path) -> None:
    _headline(context, "how to go on")
    program = "./colony.sh" if context.settings.place.checkout else "colony"
    inside = f"{program} --home {home}"
    for what, command in (
        ("the queue", f"{inside} ticket list"),
        ("what is next, and why the others wait", f"{inside} next"),
        ("accept the first result", f"{inside} ticket state shop 1 done"),
        ("answer the question", f'{inside} ticket answer shop 4 "only when asked"'),
        ("let the next worker use the answer", f"{inside} cycle --post"),
        ("clean up", f"rm -r {home}"),
        ("your own project, with a logged-in claude", f"{program} init FOLDER"),
    ):
        context.show.line(Line("demo.text", f"# {what}", facts={"command": command}), "dim")
        context.show.line(Line("demo.text", command))


def _headline(context: Context, text: str) -> None:
    context.show.gap()
    context.show.line(Line("demo", text), "bold")
