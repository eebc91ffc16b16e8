"""Why a ticket would be started now, or not: its own rules, this host's, and the queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from colony.config import Settings
from colony.core.eligible import Waits, reasons
from colony.core.explain import Delay, Reason, behind, explain, lines
from colony.core.lines import Line
from colony.core.pick import pick
from colony.core.ticket import Ref
from colony.flow.observe import Viewpoint, look, look_at
from colony.flow.runs import folder_taken, interrupted
from colony.flow.wiring.checks import Asked, own_reasons
from colony.host.clock import SystemClock
from colony.tracker.reads import Reads


def explained(
    settings: Settings, environ: Mapping[str, str], tracker: Reads, view: Viewpoint, ref: Ref
) -> Iterator[Line]:
    """The answer and its reasons. Nothing is written. `NotFound`: there is no such ticket."""
    survey, history = look_at(tracker, view, ref)
    rules = reasons(history.ticket, survey)
    codes = frozenset(each.code for each in rules if isinstance(each, Waits))
    asked = Asked(settings, environ, tracker, view, survey, history, codes)
    own = tuple(own_reasons(asked))
    delays = [] if codes else [*_interrupted(settings, view, ref), *_queue(asked)]
    yield from lines(explain(history.ticket, rules, own, delays))


def _interrupted(settings: Settings, view: Viewpoint, ref: Ref) -> Iterator[Delay]:
    """A session that was interrupted here goes on before anything new is started."""
    left = interrupted(settings.place.runs_dir, view.host, SystemClock().wall_ms())
    if left is not None and left.ticket != ref:
        text = f"session {left.session} on {left.ticket} was interrupted: it goes on first"
        reason = Reason("interrupted", text, True, "go on with it: colony cycle")
        yield Delay((left.ticket,), reason)


def _queue(asked: Asked) -> Iterator[Delay]:
    """What is next before this ticket; a ticket whose folder is taken is passed over."""
    eligible = [each.ticket for each in pick(look(asked.tracker, asked.view)).eligible]
    at = next((at for at, each in enumerate(eligible) if each.ref == asked.ref), 0)
    place, registry = asked.settings.place, asked.view.registry
    earlier = [
        each
        for each in eligible[:at]
        if not folder_taken(registry, place.home, place.runs_dir, each.ref)
    ]
    if earlier:
        yield behind(asked.history.ticket, earlier)
