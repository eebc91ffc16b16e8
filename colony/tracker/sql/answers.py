"""Rows of answers: what a write answered, kept for its repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from colony.tracker.sql.engine import Transaction

KEPT_MS: Final = 7 * 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """One write as it was asked for: by whom, where, under which key, with which body (a hash)."""

    user_id: str
    path: str
    key: str
    body: str


def forget(db: Transaction, at_ms: int) -> None:
    """Seven days after a write its key may mean another one."""
    db.run("answers_forget", before_ms=at_ms - KEPT_MS)


def earlier(db: Transaction, asked: Asked) -> tuple[str, str] | None:
    """(body, answer) of the write that used this key first."""
    for body, answer in db.rows("answer", user_id=asked.user_id, path=asked.path, key=asked.key):
        return body, answer
    return None


def keep(db: Transaction, asked: Asked, answer: str, at_ms: int) -> None:
    db.run(
        "answer_keep",
        user_id=asked.user_id,
        path=asked.path,
        key=asked.key,
        body=asked.body,
        answer=answer,
        at_ms=at_ms,
    )
