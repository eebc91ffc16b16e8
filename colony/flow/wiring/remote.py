"""Wiring for a tracker on a server: whose token is sent, and whether it is the right one.

Apart from `trackers.py`, because commands on a database file must not pay for an HTTP client.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import colony
from colony.config import Settings
from colony.errors import Refused
from colony.host.chance import SystemChance
from colony.host.clock import SystemClock
from colony.host.token_file import NoToken, TokenFile
from colony.tracker.http.client import ONE_TRY, PATIENT, Patience, Surroundings, Token
from colony.tracker.http.opening import Party, open_http
from colony.tracker.protocol import Tracker
from colony.tracker.records.reads import RecordReads

Warn = Callable[[str], object]
"""Told what a person should know, in one line."""

COLONYS = "COLONY_TOKEN_FILE"
PERSONS = "COLONY_PERSON_TOKEN_FILE"
CREATORS = "COLONY_CREATOR_TOKEN_FILE"


def open_remote(settings: Settings, warn: Warn, *, as_person: bool, hasty: bool = False) -> Tracker:
    """The tracker, for the person at this shell or for Colony itself. `hasty`: one try a request.

    Refused where there is no token for that, or one of the other kind.
    """
    tracker = settings.tracker
    path = tracker.person_token_file if as_person else tracker.token_file
    setting = PERSONS if as_person else COLONYS
    if path is None:
        raise Refused(f"{setting} is not set: {_makes(settings, as_person)}")
    party, patience = _party(settings, warn, as_person), ONE_TRY if hasty else PATIENT
    opened = _open(settings, _token(path, setting, warn), party, patience)
    try:
        if not as_person:
            need_own_users(opened, settings)
        me = opened.me()
        if me.machine == as_person:
            kind = "a machine" if me.machine else "a person"
            raise Refused(
                f"{setting} {path}: holds the token of {me.user}, who is {kind}:"
                f" {_makes(settings, as_person)}"
            )
    except BaseException:
        opened.close()
        raise
    return opened


def remote_reader(settings: Settings, warn: Warn) -> RecordReads:
    """The tracker's reads, with whichever token there is; without one where none is named."""
    tracker = settings.tracker
    for path, setting in ((tracker.token_file, COLONYS), (tracker.person_token_file, PERSONS)):
        if path is not None:
            return _open(settings, _token(path, setting, warn), _party(settings, warn, True))
    return _open(settings, NoToken(COLONYS), _party(settings, warn, True))


def need_own_users(tracker: Tracker, settings: Settings) -> None:
    """Refused where neither the tracker nor a setting says which words are Colony's own: it could
    not know its own lease."""
    if "me" not in tracker.features and not settings.tracker.own_users:
        raise Refused(
            "the tracker does not say which words are a machine's: COLONY_OWN_USERS must name "
            "Colony's own users there, former ones too"
        )


def _party(settings: Settings, warn: Warn, as_person: bool) -> Party:
    """What a server of another kind cannot tell."""
    tracker = settings.tracker
    path = tracker.creator_token_file
    return Party(
        name=tracker.person if as_person else tracker.user,
        machine=not as_person,
        own_users=frozenset(tracker.own_users),
        creator_names=frozenset(tracker.creator_names),
        creator=None if as_person or path is None else _token(path, CREATORS, warn),
    )


def _open(settings: Settings, token: Token, party: Party, patience: Patience = PATIENT) -> Tracker:
    around = Surroundings(SystemClock(), SystemChance().fraction, time.sleep)
    agent = settings.tracker.user_agent or f"colony/{colony.__version__}"
    return open_http(
        settings.tracker.url,
        token=token,
        user_agent=agent,
        around=around,
        party=party,
        patience=patience,
    )


def _token(path: Path, setting: str, warn: Warn) -> TokenFile:
    token = TokenFile(path, setting)
    if token.open_to_all():
        warn(f"{token.name}: every user of this machine can read it (chmod 600 makes it yours)")
    return token


def _makes(settings: Settings, as_person: bool) -> str:
    """Which token would do, and where it comes from."""
    tracker = settings.tracker
    who = "you act as a person" if as_person else "Colony writes as a machine"
    user = tracker.person if as_person else f"{tracker.user} --machine"
    return f"{who}; colony tracker token {user}, where the tracker's database lies, makes a token"
