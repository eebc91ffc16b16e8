"""Looking at the tracker: there, readable, and who is who. Nobody signs in who is not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit

from colony.core.doctor import Diagnosis, fail, ok, warn
from colony.core.doctor.tracker import (
    ANOTHER,
    ANOTHER_OF_YOURS,
    COLONYS,
    YOURS,
    judge_clock,
    judge_content,
    judge_creators,
    judge_names,
    judge_own_token,
    judge_person_token,
    judge_way,
    not_reached,
    not_shown,
    not_tried,
)
from colony.core.lines import clip
from colony.errors import NotAccepted, Unreachable
from colony.host.clock import Clock
from colony.host.token_file import NoTokenThere
from colony.tracker.protocol import Tracker
from colony.tracker.reads import Reads


@dataclass(frozen=True, slots=True)
class Names:
    """Who comes to the tracker, as the settings say."""

    person: str
    user: str
    creators: Sequence[str]
    """Those who count as creators where the tracker has no members."""


def look_inside(shown: str, opened: Callable[[], Reads], names: Names) -> tuple[Diagnosis, ...]:
    """An embedded tracker. Its `me` would make who is not there yet, so it is not asked."""
    with closing(opened()) as reads:
        projects = reads.projects()
        infos = [reads.project(name) for name in projects]
        return (
            judge_content(shown, projects),
            *judge_names(names.person, names.user, infos),
            *judge_creators(infos, ()),
        )


def look_at_way(shown: str, url: str, *, token: bool) -> tuple[Diagnosis, ...]:
    """Whether a token that is sent to a served tracker can be read on its way."""
    parts = urlsplit(url)
    encrypted = parts.scheme.lower() == "https"
    return judge_way(shown, parts.hostname or "", encrypted=encrypted, token=token)


@dataclass(slots=True)
class Arrival:
    """Whether a served tracker was reached: tokens are tried after that, so that one cause is told
    once."""

    there: bool = False


def look_over_http(
    shown: str, opened: Callable[[], Reads], names: Names, clock: Clock, arrival: Arrival
) -> tuple[Diagnosis, ...]:
    """A served tracker, with whichever token there is."""
    try:
        found = _seen_over_http(shown, opened, names, clock)
    except (NotAccepted, NoTokenThere):
        found = (not_shown(shown),)
    except Unreachable as why:
        return (not_reached(clip(why.line, 400)),)
    arrival.there = True
    return found


def _seen_over_http(
    shown: str, opened: Callable[[], Reads], names: Names, clock: Clock
) -> tuple[Diagnosis, ...]:
    with closing(opened()) as reads:
        projects = reads.projects()
        infos = [reads.project(name) for name in projects]
        with_members = [info for info in infos if info.members]
        # Names that the settings give count only where the tracker tells no members.
        creators = () if with_members else names.creators
        return (
            judge_content(shown, projects),
            judge_clock(reads.now_ms(), clock.wall_ms()),
            *judge_creators(with_members or infos, creators),
        )


def look_at_own_token(
    as_colony: Callable[[], Tracker], user: str, own_users: Sequence[str], arrival: Arrival
) -> tuple[Diagnosis, ...]:
    """Colony's own token, for a served tracker."""
    if not arrival.there:
        return (not_tried(COLONYS),)
    try:
        with closing(as_colony()) as tracker:
            if "me" in tracker.features:
                return (judge_own_token(tracker.me(), user),)
    except (NotAccepted, NoTokenThere) as why:
        return (fail(COLONYS, clip(why.line, 400), ANOTHER.format(user=user)),)
    if own_users:
        return (ok(COLONYS, f"taken; Colony is {', '.join(own_users)} there"),)
    todo = "name Colony's own users there in COLONY_OWN_USERS"
    return (fail(COLONYS, "the tracker cannot tell whose it is", todo),)


def look_at_person_token(
    as_person: Callable[[], Tracker] | None, arrival: Arrival
) -> tuple[Diagnosis, ...]:
    """The person's own token, for a served tracker."""
    if as_person is None:
        todo = "set COLONY_PERSON_TOKEN_FILE to write and answer tickets from here"
        return (warn(YOURS, "there is none", todo),)
    if not arrival.there:
        return (not_tried(YOURS),)
    try:
        with closing(as_person()) as tracker:
            if "me" in tracker.features:
                return (judge_person_token(tracker.me()),)
    except (NotAccepted, NoTokenThere) as why:
        return (fail(YOURS, clip(why.line, 400), ANOTHER_OF_YOURS),)
    return (ok(YOURS, "taken; the tracker cannot tell whose it is"),)
