"""Rows of users, projects and members."""

from __future__ import annotations

from dataclasses import dataclass

from colony.core.ticket import Member, Role
from colony.tracker.sql.engine import Transaction


@dataclass(frozen=True, slots=True)
class User:
    id: str
    name: str
    machine: bool
    owner: bool


def user(db: Transaction, name: str) -> User | None:
    for id_, found, machine, owner in db.rows("user_named", name=name):
        return User(id_, found, bool(machine), bool(owner))
    return None


def add_user(db: Transaction, name: str, *, machine: bool, owner: bool, at_ms: int) -> User:
    """Users are never deleted, so that counting them gives a fresh id."""
    [(count,)] = db.rows("users_counted")
    new = User(f"u{count + 1}", name, machine, owner)
    db.run(
        "user_add",
        id=new.id,
        name=new.name,
        machine=int(new.machine),
        owner=int(new.owner),
        at_ms=at_ms,
    )
    return new


def make_owner(db: Transaction, user_id: str) -> None:
    db.run("user_becomes_owner", id=user_id)


def owners(db: Transaction) -> dict[str, str]:
    """User id -> name."""
    return dict(db.rows("owners"))


def has_project(db: Transaction, name: str) -> bool:
    return bool(db.rows("project_named", name=name))


def project_names(db: Transaction) -> list[str]:
    return [name for (name,) in db.rows("project_names")]


def add_project(db: Transaction, name: str, at_ms: int) -> None:
    db.run("project_add", name=name, at_ms=at_ms)


def next_number(db: Transaction, project: str) -> int:
    """A ticket number that nobody else is given."""
    db.run("project_counts_on", name=project)
    [(number,)] = db.rows("project_last_number", name=project)
    return int(number)


def role(db: Transaction, project: str, user_id: str) -> Role | None:
    for (found,) in db.rows("member_role", project=project, user_id=user_id):
        known: Role = found
        return known
    return None


def set_role(db: Transaction, project: str, user_id: str, role: Role | None) -> None:
    if role is None:
        db.run("member_drop", project=project, user_id=user_id)
    else:
        db.run("member_set", project=project, user_id=user_id, role=role)


def members(db: Transaction, project: str) -> tuple[Member, ...]:
    """By name; owners are admins of every project."""
    found = {
        user_id: Member(name, user_id, role)
        for name, user_id, _, role in db.rows("members", project=project)
    }
    for user_id, name in owners(db).items():
        found[user_id] = Member(name, user_id, "admin")
    return tuple(sorted(found.values(), key=lambda member: member.user))


def admins(db: Transaction, project: str) -> frozenset[str]:
    """Ids of the project's creators."""
    return frozenset(member.user_id for member in members(db, project) if member.role == "admin")
