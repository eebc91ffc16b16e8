"""`colony tracker token`, `tokens`, `revoke`: who may speak to a server of this tracker."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Final

import typer

from colony.cli.local_time import when
from colony.cli.machine import zone
from colony.cli.opening import check_person, fresh_file, made_line, new_path
from colony.cli.show import Row
from colony.cli.tracker.group import app
from colony.cli.verb import Context, verb
from colony.config import Settings
from colony.core.expiry import USAGE, expiry_ms
from colony.core.lines import Json, Line
from colony.core.records import TokenRow
from colony.core.ticket import Me
from colony.errors import UsageProblem
from colony.flow.wiring.stores import Store, need_database, store_of
from colony.host.chance import SystemChance
from colony.host.clock import SystemClock
from colony.host.new_file import new_file

COLUMNS: Final = ("token", "user", "kind", "made", "expires", "state")
WHERE: Final = "tokens are made, listed and revoked"


@verb(app)
def token(
    context: Context,
    name: Annotated[str, typer.Argument(metavar="USER", help="Who shows it; made where missing.")],
    owner: Annotated[
        bool, typer.Option("--owner", help="USER is an owner from now on: admin in every project.")
    ] = False,
    machine: Annotated[
        bool, typer.Option("--machine", help="USER is Colony on some host, not a person.")
    ] = False,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="D", help="12h, 30d, 8w, or its last day: 2027-01-31."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FILE", help="Write it into this new file, do not show it."),
    ] = None,
) -> None:
    """Make a token, and show it this one time."""
    if owner and machine:
        raise UsageProblem("--owner and --machine: a machine owns nothing, give one of them")
    _check_name(context.settings, name, machine=machine)
    there = zone(context.settings.tracker.tz)
    until_ms = _until_ms(expires, there)
    need_database(context.settings, WHERE)
    wanted = Me(name, "", machine=machine, owner=owner)
    path = None if to is None else new_path(to)
    fresh = fresh_file(context.settings)
    with store_of(context.settings, create=fresh is not None) as store:
        if fresh:
            context.show.line(made_line(fresh))
        made, secret, row = _made(store, wanted, until_ms, path)
    kind = "person, owner" if made.owner else _kind(made)
    until = f", until {when(until_ms, there)}" if until_ms is not None else ""
    facts = {**_facts(row), "path": None if path is None else str(path)}
    if path is None:
        facts["token"] = secret
    shown = f"written to {path}" if path else secret
    context.show.line(
        Line("token", f"{row.id} for {made.user} ({kind}){until}: {shown}", facts=facts)
    )


@verb(app)
def tokens(context: Context) -> None:
    """List the tokens that were made, without their secrets."""
    need_database(context.settings, WHERE)
    there, now_ms = zone(context.settings.tracker.tz), SystemClock().wall_ms()
    with store_of(context.settings, create=False) as store:
        found = store.tokens.every()
    context.show.table(COLUMNS, [_row(each, now_ms, there) for each in found])
    good = sum(_state(each, now_ms) == "good" for each in found)
    dead = f", {len(found) - good} expired or revoked" if good < len(found) else ""
    facts: dict[str, Json] = {"good": good, "tokens": len(found)}
    context.show.line(Line("tokens", f"{good} good{dead}", facts=facts))


@verb(app)
def revoke(
    context: Context,
    token: Annotated[str, typer.Argument(metavar="ID", help="As tracker tokens lists it: t3.")],
) -> None:
    """Make a token worthless, at once and for good."""
    need_database(context.settings, WHERE)
    with store_of(context.settings, create=False) as store:
        store.tokens.revoke(token)
        [row] = [each for each in store.tokens.every() if each.id == token]
    context.show.line(Line("token", f"{row.id} of {row.user} is revoked", facts=_facts(row)))


def _made(
    store: Store, wanted: Me, until_ms: int | None, path: Path | None
) -> tuple[Me, str, TokenRow]:
    """The user, the secret and the token. Its file is there first: what cannot be written makes no
    token, and a token that cannot be made leaves no file."""
    secret = SystemChance().token()
    with ExitStack() as undo:
        if path is not None:
            with new_file(path) as file:
                file.write(f"{secret}\n".encode())
            undo.callback(path.unlink, missing_ok=True)
        user = store.service.sign_in(wanted)
        made = store.tokens.make(user, secret, until_ms)
        undo.pop_all()
    [row] = [each for each in store.tokens.every() if each.id == made]
    return user, secret, row


def _check_name(settings: Settings, user: str, *, machine: bool) -> None:
    """What a name was first, it stays: Colony's own must not become a person's, nor yours its."""
    check_person(settings)
    tracker = settings.tracker
    if user == tracker.user and not machine:
        raise UsageProblem(f"{user} is Colony's own name (COLONY_USER): give --machine, or a name")
    if user == tracker.person and machine:
        raise UsageProblem(f"{user} is your own name (COLONY_PERSON): a machine needs another one")


def _until_ms(expires: str | None, there: tzinfo) -> int | None:
    if expires is None:
        return None
    now_ms = SystemClock().wall_ms()
    until_ms = expiry_ms(expires, now_ms, there)
    if until_ms is None:
        raise UsageProblem(f"--expires {expires}: {USAGE}")
    if until_ms <= now_ms:
        raise UsageProblem(f"--expires {expires}: lies in the past")
    return until_ms


def _kind(who: Me | TokenRow) -> str:
    return "machine" if who.machine else "person"


def _state(token: TokenRow, now_ms: int) -> str:
    if token.revoked_ms is not None:
        return "revoked"
    expired = token.expires_ms is not None and token.expires_ms <= now_ms
    return "expired" if expired else "good"


def _row(token: TokenRow, now_ms: int, there: tzinfo) -> Row:
    kind = f"{_kind(token)}, owner" if token.owner else _kind(token)
    state = _state(token, now_ms)
    expires = "never" if token.expires_ms is None else when(token.expires_ms, there)
    made = when(token.created_ms, there)
    facts = {**_facts(token), "state": state}
    line = Line("token", f"{token.id} of {token.user} ({kind}), {state}", facts=facts)
    return Row(line, (token.id, token.user, kind, made, expires, state))


def _facts(token: TokenRow) -> dict[str, Json]:
    return {
        "id": token.id,
        "user": token.user,
        "machine": token.machine,
        "owner": token.owner,
        "createdMs": token.created_ms,
        "expiresMs": token.expires_ms,
        "revokedMs": token.revoked_ms,
    }
