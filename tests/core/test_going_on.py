"""Where a session stands, and how it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_prune import ENDED, NEW, NOW, UNPOSTED

from colony.core.endings import Ending
from colony.core.going_on import stand_of
from colony.core.session import Facts, LeaseFacts, Occasion, PartFacts

S = NEW.session
CHECKS = tuple(
    PartFacts(at, "check", f"u{at}", False, NOW, ended=Ending.NO_REPORT, ended_ms=NOW)
    for at in (1, 2, 3)
)
UNJUDGED = replace(UNPOSTED, post=False, verdict=None, parts=CHECKS)


@pytest.mark.parametrize(
    ("facts", "running", "word", "remedy"),
    [
        (ENDED, False, "posted", ""),
        (NEW, True, "running", f"watch it: colony tail {S}"),
        (
            replace(UNPOSTED, post=False),
            False,
            "not posted",
            f"post it: colony check runs/{S} --post",
        ),
        (UNJUDGED, False, "no verdict", f"have it checked: colony check runs/{S} --post"),
        (NEW, False, "unfinished", "go on with it: colony work shop 1"),
        (
            replace(NEW, post=False),
            False,
            "unfinished",
            "go on with it: colony work shop 1 --post",
        ),
        (
            replace(NEW, host="elm", lease=LeaseFacts(7, NOW)),
            False,
            "unfinished",
            "go on with it on elm: colony work shop 1",
        ),
        # Facts that do not fit together, as nobody wrote them: said without a next step.
        (
            replace(NEW, occasion=Occasion.NO_REPORT),
            False,
            "unfinished",
            "go on with it: colony work shop 1",
        ),
    ],
)
def test_where_a_session_stands(facts: Facts, running: bool, word: str, remedy: str) -> None:
    stand = stand_of(facts, "H", NOW, running=running)
    assert (stand.word, stand.remedy) == (word, remedy)
