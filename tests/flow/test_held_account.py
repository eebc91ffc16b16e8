"""A limit holds the account, not the ticket: launches against it are counted, in the loop itself.

Time is moved by hand; a session is its run folder, and how it fares is a script.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hall import BEGUN_MS, MINUTE, RUNS, Account, Fate, Hall, limit, readings

from colony.core.endings import Ending
from colony.flow import recent as recents
from colony.flow.kept import Tries, sessions_in
from colony.flow.recent import SINCE_MS, Recent
from colony.host.ended import note_ended


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    made = Hall(tmp_path)
    yield made
    made.close()


# --- a limit -------------------------------------------------------------------------------------


def test_nothing_is_launched_against_a_limit_that_is_reached(hall: Hall) -> None:
    """Ten tickets, five at once: whoever is not on the way already stays at home for the hour."""
    hall.fates = lambda _: limit(60)
    assert len(hall.look()) == 5
    assert hall.look(59) == []
    [line] = hall.said("limit")
    assert line.startswith("usage limit reached — starts paused until 2027-01-15 09:00 UTC · p")
    assert len(hall.said("iter")) == 1, "while it is held the iterations are silent"


def test_one_alone_that_hits_it_keeps_all_others_at_home(hall: Hall) -> None:
    hall.parallel = 1
    hall.loop = type(hall.loop)(hall._bench(), hall.settings, hall.sessions)
    hall.fates = lambda _: limit(60)
    assert len(hall.look(60)) == 1


def test_after_the_reset_one_goes_first_then_the_rest(hall: Hall) -> None:
    hall.fates = lambda _: limit(60)
    first = hall.look(60)
    hall.fates = lambda _: RUNS
    [goes] = hall.look()
    assert goes in first, "what was parked goes before what is new"
    assert hall.said("limit")[1:] == [
        "resumed — the pause until 2027-01-15 09:00 UTC is over;"
        " one session goes first, then the others"
    ]
    assert hall.look(5) == [], "until it has been answered"
    assert (
        "tries first: usage limit reached before" in hall.said("iter")[-1]
        or "as before" in (hall.said("iter")[-1])
    )
    hall.answer()
    assert {goes, *hall.look()} == {*first}
    assert len(hall.said("limit")) == 2


def test_still_limited_after_the_reset_one_session_tries_at_a_time(hall: Hall) -> None:
    hall.fates = lambda _: limit(60)
    hall.look(60)
    launched = [minute for minute, _ in hall.sessions.launched]
    hall.look(3 * 60)
    again = [minute for minute, _ in hall.sessions.launched[len(launched) :]]
    assert again == [60, 75, 135, 195]


def test_without_a_known_reset_it_is_tried_after_a_quarter_of_an_hour(hall: Hall) -> None:
    hall.fates = lambda _: limit(None)
    hall.look()
    hall.fates = lambda _: RUNS
    assert hall.look(14) == []
    assert len(hall.look()) == 1
    assert "(no reset time known: then one tries)" in hall.said("limit")[0]


def test_during_a_long_hold_one_tries_every_two_hours(hall: Hall) -> None:
    hall.parallel = 1
    hall.loop = type(hall.loop)(hall._bench(), hall.settings, hall.sessions)
    hall.fates = lambda _: limit(7 * 60)
    hall.look(7 * 60)
    assert [minute for minute, _ in hall.sessions.launched] == [0, 120, 240, 360]
    assert len(hall.said("limit")) == 1, "it was held all the time"


def test_access_that_is_back_before_its_time_frees_the_account(hall: Hall) -> None:
    hall.fates = lambda _: limit(24 * 60)
    hall.look(120)
    hall.fates = lambda _: RUNS
    assert len(hall.look(2)) == 1
    hall.answer()
    assert len(hall.look()) == 4
    assert hall.said("limit")[-1].endswith("is over: a session has been answered")


def test_a_loop_that_begins_anew_knows_what_holds(hall: Hall) -> None:
    hall.fates = lambda _: limit(60)
    hall.look(10)
    hall.loop = type(hall.loop)(hall._bench(), hall.settings, hall.sessions)
    assert hall.look(40) == []
    assert hall.said("limit")[0] == hall.said("limit")[1]


def test_the_limit_of_another_account_holds_nothing(hall: Hall) -> None:
    hall.fates = lambda _: limit(60)
    first = hall.look()
    hall.account.who, hall.fates = "berta", lambda _: RUNS
    assert sorted(hall.look()) == sorted(first), "what was parked goes on with the new login"


def test_an_agent_without_an_account_is_held_by_none(hall: Hall) -> None:
    hall.account.who = ""
    settings = hall.settings
    free = type(settings.account)(None, frozenset(), {}, {}, settings.account.thresholds, None)
    bare = type(settings)(**{name: getattr(settings, name) for name in settings.__slots__}
                          | {"account": free})  # fmt: skip
    hall.loop = type(hall.loop)(hall._bench(), bare, hall.sessions)
    hall.fates = lambda _: limit(60)
    assert len(hall.look(3)) == 10
    assert not hall.said("limit")
    assert "quota" not in hall.said("iter")[0]


# --- login and provider --------------------------------------------------------------------------


def test_a_login_that_is_refused_stops_every_start_until_it_changes(hall: Hall) -> None:
    hall.fates = lambda _: Fate(Ending.LOGIN)
    hall.look()
    assert hall.look(10) == []
    [line] = hall.said("limit")
    assert line.startswith("the coding agent is not logged in — starts paused until ")
    assert "log in anew" in line
    hall.account.mark, hall.fates = "mark 2", lambda _: RUNS
    assert len(hall.look(2)) == 1, "one goes first"
    hall.answer()
    assert len(hall.look()) == 4
    assert len(hall.said("limit")) == 2


def test_a_login_that_does_not_change_is_tried_by_one_session_at_a_time(hall: Hall) -> None:
    hall.fates = lambda _: Fate(Ending.LOGIN)
    hall.look(180)
    assert [minute for minute, _ in hall.sessions.launched] == [0] * 5 + [15, 75, 135]


def test_a_provider_that_is_away_is_tried_by_one_session_at_a_time(hall: Hall) -> None:
    hall.fates = lambda _: Fate(Ending.PROVIDER)
    hall.look(150)
    assert [minute for minute, _ in hall.sessions.launched] == [0] * 5 + [1, 6, 21, 81, 141]


def test_a_model_that_is_not_there_keeps_no_other_waiting(hall: Hall) -> None:
    hall.fates = lambda _: Fate(Ending.MODEL)
    hall.look()
    assert hall.look(14) == []
    assert "the model is not to be had (sonnet) — starts paused" in hall.said("limit")[0]
    assert len(hall.said("iter")) > 5, "the account is not held: what else happens is said"


def test_the_loop_wakes_when_a_hold_is_over(hall: Hall) -> None:
    hall.fates = lambda _: Fate(Ending.MODEL)
    hall.look()
    hall.time.now_ms = BEGUN_MS + 14 * MINUTE + MINUTE // 2
    hall.loop.iterate()
    assert hall.loop._next_s == (BEGUN_MS + 15 * MINUTE) / 1000


def test_a_try_that_failed_is_waited_for_whatever_the_account_says(hall: Hall) -> None:
    """A session that cannot even be taken up is no probe of its account."""
    hall.fates = lambda _: limit(60)
    hall.look()
    one = sessions_in(hall.runs, hall.time.now_ms, {}, ()).kept[0]
    assert (one.awaits, one.due_ms) == (True, BEGUN_MS + 60 * MINUTE)
    tries = {one.session: Tries(2, "x", hall.time.now_ms)}
    one = sessions_in(hall.runs, hall.time.now_ms, tries, ()).kept[0]
    assert (one.awaits, one.again_ms) == (True, hall.time.now_ms + 60_000)
    ordered = sessions_in(hall.runs, hall.time.now_ms, tries, (one.session,)).kept[0]
    assert (ordered.awaits, ordered.due_ms, ordered.again_ms) == (False, 0, 0)


# --- readings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "against"),
    [
        (readings(1.0, 0.2), "the 5 h limit is reached (100%)"),
        (readings(0.75, 0.2), "5 h 75% ≥ reserve 70%"),
        (readings(0.1, 0.9), "week 90% > week limit 84%"),
        (readings(0.5, 0.2), ""),
    ],
)
def test_what_sessions_were_told_holds_the_next(hall: Hall, told: Any, against: str) -> None:
    hall.parallel = 1
    hall.loop = type(hall.loop)(hall._bench(), hall.settings, hall.sessions)
    assert "quota: not known for this login" in (hall.look() and hall.said("iter"))[0]
    [session] = hall.sessions.locks
    hall.play(_facts(hall, session), Fate(Ending.NO_REPORT, None, True, told))
    launched = hall.look(3)
    assert bool(launched) is not bool(against)
    assert (
        f"→ {against}" in hall.said("iter")[1] if against else "< reserve" in hall.said("iter")[1]
    )


def _facts(hall: Hall, session: str) -> Any:
    from colony.flow.runs import facts_at
    from colony.host.journal import RunFolder

    return facts_at(RunFolder(hall.runs / session))


# --- money ---------------------------------------------------------------------------------------


def test_a_day_that_has_cost_enough_starts_nothing_until_midnight(tmp_path: Path) -> None:
    hall = Hall(tmp_path, max_cost_usd=20.0, parallel=1)
    try:
        hall.fates = lambda _: Fate(Ending.CRASHED, None, True, (), 20.5)
        assert len(hall.look()) == 1
        left = (24 * 60) - (BEGUN_MS // MINUTE) % (24 * 60)
        assert hall.look(left - 1) == []
        assert "$20.50 of $20.00 today" in hall.said("iter")[-1]
        assert len(hall.look()) == 1
    finally:
        hall.close()


# --- many run folders ----------------------------------------------------------------------------


def test_run_folders_that_did_not_change_are_not_read(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = recents.facts_of

    def counted(folder: Any) -> Any:
        read.append(folder.session)
        return real(folder)

    monkeypatch.setattr(recents, "facts_of", counted)
    hall.look()
    recent = Recent(hall.runs)
    now_ms = hall.time.now_ms
    assert len(recent.parts(now_ms)) == 5
    assert len(recent.parts(now_ms)) == 5
    assert len(read) == 5, "each once"
    hall.answer()
    assert all(part.answered for part in recent.parts(now_ms))
    assert len(read) == 10


def test_what_ended_long_ago_says_nothing(hall: Hall) -> None:
    hall.look()
    first, second, *_ = sorted(path.name for path in hall.runs.iterdir() if path.is_dir())
    for session in (first, second):
        note_ended(hall.runs, session)
        os.utime(hall.runs / session / "session.json", ns=(BEGUN_MS * 10**6, BEGUN_MS * 10**6))
    recent = Recent(hall.runs)
    for late, count in ((SINCE_MS, 5), (SINCE_MS + 1, 3)):
        parts = recent.parts(BEGUN_MS + late)
        assert len({part.session for part in parts}) == count
    note_ended(hall.runs, "s-20260101T0000-000000")
    (hall.runs / "s-20260101T0000-000001").mkdir()
    assert len(recent.parts(BEGUN_MS)) == 5, "no record, no parts"
    assert Recent(hall.runs / "none").parts(BEGUN_MS) == ()


def test_the_account_is_asked_for_its_name_and_no_more() -> None:
    assert Account().quota_call({}) is None
