"""Where a session stands, in a person's words, and what to do for it to go on."""

from __future__ import annotations

from dataclasses import dataclass

from colony.core.session import Facts, Rest, next_step, phase_of


@dataclass(frozen=True, slots=True)
class Stand:
    """`word` is short, for a column; `text` a sentence; `remedy` a command with its purpose."""

    word: str
    text: str
    remedy: str = ""


def stand_of(facts: Facts, host: str, now_ms: int, *, running: bool) -> Stand:
    """`running`: somebody holds the session's lock now. `host` is this host."""
    ref = facts.ticket
    if facts.outcome is not None:
        return Stand(str(facts.outcome), f"ended: {facts.outcome}")
    if running:
        return Stand("running", "it is running", f"watch it: colony tail {facts.session}")
    there = "" if facts.host.casefold() == host.casefold() else f" on {facts.host}"
    rest = _rest(facts, now_ms)
    if rest is not None:
        post = f"colony check runs/{facts.session} --post"
        if rest.judged:
            return Stand("not posted", "its result is kept and not posted", f"post it: {post}")
        return Stand("no verdict", "its report got no verdict", f"have it checked: {post}")
    posts = " --post" if not facts.post else ""
    text = f"it was left unfinished{there}: {phase_of(facts)}"
    return Stand(
        "unfinished", text, f"go on with it{there}: colony work {ref.project} {ref.number}{posts}"
    )


def _rest(facts: Facts, now_ms: int) -> Rest | None:
    # What is being posted does not rest; and only then the next step needs facts that fit together.
    step = None if facts.occasion is not None else next_step(facts, now_ms)
    return step if isinstance(step, Rest) else None
