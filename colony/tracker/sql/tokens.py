"""Rows of tokens: hashes of what users show to a server."""

from __future__ import annotations

from colony.core.records import TokenRow
from colony.core.ticket import Me, Role
from colony.tracker.sql.engine import Transaction


def add(db: Transaction, user_id: str, hashed: str, at_ms: int, expires_ms: int | None) -> str:
    """The new token's id. Tokens are never deleted, so that counting them gives a fresh one."""
    [(count,)] = db.rows("tokens_counted")
    new = f"t{count + 1}"
    db.run(
        "token_add",
        id=new,
        user_id=user_id,
        hash=hashed,
        created_ms=at_ms,
        expires_ms=expires_ms,
    )
    return new


def every(db: Transaction) -> tuple[TokenRow, ...]:
    """Oldest first, those too that are no longer good."""
    return tuple(
        TokenRow(id_, user, bool(machine), bool(owner), created, expires, revoked)
        for id_, user, machine, owner, created, expires, revoked in db.rows("tokens")
    )


def holder(db: Transaction, hashed: str, at_ms: int) -> Me | None:
    """Whose token it is; None where there is none, or it is no longer good."""
    for id_, name, machine, owner, expires, revoked in db.rows("token_user", hash=hashed):
        if revoked is None and (expires is None or at_ms < expires):
            return Me(name, id_, bool(machine), bool(owner))
    return None


def revoke(db: Transaction, token: str, at_ms: int) -> bool:
    """False: there is none of this id that was still good."""
    return db.run("token_revoke", id=token, at_ms=at_ms) > 0


def roles(db: Transaction, user_id: str) -> dict[str, Role]:
    """Project -> role, where the user is a member."""
    return dict(db.rows("roles_of", user_id=user_id))
