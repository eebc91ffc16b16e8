"""`colony doctor`: one line for each thing that Colony needs here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from colony.cli.config import listed
from colony.cli.looking import reads_of
from colony.cli.reaching import tracker_of
from colony.cli.show import Style
from colony.cli.verb import Context, Start, early_verb, verbs
from colony.config import Settings, find_home, unknown_variables
from colony.config.shown import Listing, listing
from colony.core.doctor import Diagnosis, State, fail, ok, row, summary, warn
from colony.errors import ColonyError
from colony.flow.doctor.examining import examine
from colony.flow.wiring.doctor import Ways, checks_of, checks_without_settings

app = verbs()

STYLES: Final[dict[State, Style]] = {"ok": "dim", "warn": "", "fail": "bold"}


@early_verb(app)
def doctor(start: Start) -> int:
    """Say of each thing that Colony needs here whether it is in order, or what to do.

    Nothing is written, nothing costs anything. Exit status 1 where something must be mended.
    """
    findings = []
    for finding in _findings(start):
        start.show.line(row(finding), STYLES[finding.state])
        findings.append(finding)
    start.show.line(summary(findings), "bold")
    return int(any(each.state == "fail" for each in findings))


def _findings(start: Start) -> Iterator[Diagnosis]:
    try:
        found = listed(start)
    except ColonyError as problem:
        yield fail("settings", problem.line, "mend the file, or take it away")
        found = listing(start.flags, start.environ, "", start.machine)
    yield from examine(checks_without_settings(_home(start), start.environ, sys.version_info[:3]))
    yield from _settings(start, found)
    if found.settings is None:
        yield warn("settings", "all other checks wait for them")
        return
    yield from examine(checks_of(found.settings, start.environ, _ways(start, found.settings)))


def _ways(start: Start, settings: Settings) -> Ways:
    context = Context(settings, start.show, start.environ)
    return Ways(reads=partial(reads_of, context), tracker=partial(tracker_of, context))


def _home(start: Start) -> Path:
    try:
        return find_home(start.flags, start.environ, start.machine)
    except ColonyError:
        return find_home({}, {}, start.machine)


def _settings(start: Start, found: Listing) -> Iterator[Diagnosis]:
    for refused in found.refusals:
        yield fail("settings", refused, "correct it, or leave it out (docs/settings.md)")
    for unknown in unknown_variables(start.environ):
        yield warn("settings", unknown)
    if not found.refusals:
        changed = sum(each.source != "default" for each in found.rows)
        yield ok("settings", f"{changed} not the default (colony config --changed)")
