"""Which trackers are other people's, too."""

from __future__ import annotations

import pytest

from colony.core.live import is_live

OURS = [
    "sqlite:////home/anna/colony.db",
    "sqlite:///:memory:",
    "http://127.0.0.1:8600",
    "http://localhost:8600/",
    "https://[::1]:8600",
    "http://u:p@127.0.0.1:1",
    "postgresql:///colony",
    "postgresql:///colony?host=/run/postgresql",
    "postgresql://%2Frun%2Fpostgresql/colony",
    "postgresql://anna@localhost/colony",
    "postgresql:///colony?host=127.0.0.1",
    "postgresql://localhost:5432,[::1]:5433/colony?connect_timeout=3",
    "http://LOCALHOST:8600/",
]
OTHERS = [
    "https://tickets.example",
    "http://10.0.0.1:8600",
    "http://127.0.0.1@evil.example/",
    "http://localhost.example",
    "https://[2001:db8::1]/",
    "postgresql://db.example/colony",
    "postgresql:///colony?host=db.example",
    "postgresql://localhost,db.example/colony",
    "postgresql://localhost:5432,db.example:5432/colony",
    "postgresql://localhost/colony?host=db.example",
    "postgresql:///colony?hostaddr=10.0.0.1",
    "postgresql:///colony?host=/run/postgresql&host=db.example",
    "postgresql:///colony?host=/run/postgresql,db.example",
    "postgresql:///colony?host=/run/postgresql%2Cdb.example",
    "postgresql:///colony?service=prod",
    "postgresql:///colony?%68ost=db.example",
    "http://localhost@tickets.example",
    "http://[::1",
    "http://",
    "nonsense",
]


@pytest.mark.parametrize("url", OURS)
def test_what_is_only_here(url: str) -> None:
    assert not is_live(url)


@pytest.mark.parametrize("url", OTHERS)
def test_what_others_reach_too(url: str) -> None:
    assert is_live(url)
