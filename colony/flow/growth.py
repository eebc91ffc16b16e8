"""What earlier attempts mean for the next one, and whether this one brought anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from colony.core.attempts import attempts_of, cost_cents, steps_for
from colony.core.budget import cap_of
from colony.core.deploy_mark import marked_for_deploy
from colony.core.people import People
from colony.core.session import Facts, Setup
from colony.core.ticket import History
from colony.host.changes import changed_since


def grown(setup: Setup, history: History, people: People) -> Setup:
    """The setup with more steps for the worker, where earlier ones brought something and ran out,
    with more memory where they had too little of that,
    with what they left of the ticket's cap, and with its deploy mark. Repeated with the same
    history it stays the same.
    """
    base = setup.base_turns or setup.worker.max_turns
    found = attempts_of(history.events)
    turns = steps_for(base, found)
    cap = cap_of(history.events, people, setup.max_cost_cents)
    left = max(0, cap - cost_cents(history.events, but="")) if cap else None
    worker = replace(setup.worker, max_turns=turns)
    deploy = marked_for_deploy(history, people)
    return replace(
        setup,
        base_turns=base,
        left_cents=left,
        worker=worker,
        deploy=deploy,
        starved=found.starved,
    )


def has_progress(facts: Facts) -> bool:
    """There is a report, or something new in the dev folder."""
    if facts.report is not None and facts.report.valid:
        return True
    worked = facts.worked
    return bool(worked) and changed_since(Path(facts.setup.folder), worked[0].started_ms)
