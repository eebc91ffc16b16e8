"""Judging the tracker: who is who there, and whether its clock is ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from colony.core.doctor import Diagnosis, fail, ok, warn
from colony.core.loopback import is_loopback
from colony.core.ticket import Me, ProjectInfo, State

CLOCK_WARN_MS: Final = 5_000
CLOCK_FAIL_MS: Final = 300_000
ANOTHER: Final = (
    "on the tracker's host `colony tracker token {user} --machine --to FILE`, here"
    " COLONY_TOKEN_FILE=FILE"
)

ANOTHER_OF_YOURS: Final = (
    "on the tracker's host `colony tracker token YOU --to FILE`, here COLONY_PERSON_TOKEN_FILE=FILE"
)
COLONYS: Final = "Colony's token"
YOURS: Final = "your token"


def not_reached(why: str) -> Diagnosis:
    """A served tracker that gives no answer."""
    todo = "start it (`colony tracker serve`, on its host), or correct COLONY_TICKETS_URL"
    return fail("tracker", why, todo)


def not_shown(shown: str) -> Diagnosis:
    """It wants a token that is not there: the check of that token says what to do."""
    return warn("tracker", f"{shown}: what it holds is not seen without a token that it takes")


def not_tried(check: str) -> Diagnosis:
    """A token, while the tracker is not reached."""
    return warn(check, "not tried, since the tracker was not reached")


def judge_content(shown: str, projects: Mapping[str, Mapping[State, int]]) -> Diagnosis:
    tickets = sum(sum(states.values()) for states in projects.values())
    said = f"{_count(len(projects), 'project')}, {_count(tickets, 'ticket')}"
    return ok("tracker", f"{shown}: {said}")


def judge_way(shown: str, host: str, *, encrypted: bool, token: bool) -> tuple[Diagnosis, ...]:
    """How a token gets to the tracker; nothing where it stays on this machine."""
    if encrypted or not token or is_loopback(host):
        return ()
    fact = f"{shown} is no https: the token goes over the network unencrypted"
    return (warn("the way there", fact, "https, or a tunnel"),)


def judge_names(person: str, user: str, projects: Sequence[ProjectInfo]) -> tuple[Diagnosis, ...]:
    """Who is who where names alone decide. Whoever is no member yet becomes what he comes as."""
    if person == user:
        return (
            fail(
                "who is who",
                f"you and Colony itself would both be {user} in the tracker",
                "set COLONY_PERSON to your own name, or COLONY_USER to another one for Colony",
            ),
        )
    if any(member.user == user for info in projects for member in info.members):
        return (fail("who is who", f"{user} is a person there", "set COLONY_USER to another name"),)
    said = f"you are {person}, an owner; Colony is {user}, a machine, and may write everywhere"
    return (ok("who is who", said),)


def judge_creators(
    projects: Sequence[ProjectInfo], creators: Sequence[str]
) -> tuple[Diagnosis, ...]:
    """Somebody must be able to accept: a project made by a machine has owners only."""
    without = [
        info.name for info in projects if not any(each.role == "admin" for each in info.members)
    ]
    return tuple(
        fail(
            "creators",
            f"nobody may accept or reject in {name}",
            f"a project made by a machine needs one: `colony tracker member {name} YOU admin`",
        )
        for name in without
        if not creators
    )


def judge_own_token(me: Me, user: str) -> Diagnosis:
    """Colony's own token over HTTP."""
    if not me.machine:
        todo = ANOTHER.format(user=user)
        return fail(COLONYS, f"it is the one of {me.user}, a person", todo)
    return ok(COLONYS, f"{me.user}, a machine: it may write in every project")


def judge_person_token(me: Me) -> Diagnosis:
    """A person's token over HTTP."""
    if me.machine:
        todo = "put a person's token into COLONY_PERSON_TOKEN_FILE"
        return fail(YOURS, f"it is the one of {me.user}, a machine", todo)
    return ok(YOURS, f"{me.user}, {'an owner' if me.owner else 'a person'}")


def judge_clock(there_ms: int, here_ms: int) -> Diagnosis:
    apart = abs(there_ms - here_ms)
    text = f"{apart / 1000:.1f} s from the tracker's"
    if apart > CLOCK_FAIL_MS:
        return fail("clock", text, "set this host's clock, or the tracker's (NTP)")
    if apart > CLOCK_WARN_MS:
        return warn("clock", text, "let both hosts follow the same time (NTP)")
    return ok("clock", text)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
