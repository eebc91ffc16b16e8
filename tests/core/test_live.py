"""Whose tracker an address names."""

from __future__ import annotations

import pytest

from colony.core.live import is_live


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("sqlite:///colony.db", False),
        ("sqlite:////srv/colony.db", False),
        ("http://127.0.0.1:8600", False),
        ("http://LOCALHOST:8600/", False),
        ("https://[::1]:8600", False),
        ("http://10.0.0.1:8600", True),
        ("https://tickets.example", True),
        ("http://localhost.example", True),
        ("http://localhost@tickets.example", True),
        ("http://[::1", True),
        ("http://", True),
        ("postgresql:///colony", False),
        ("postgresql:///colony?host=/run/postgresql", False),
        ("postgresql://%2Frun%2Fpostgresql/colony", False),
        ("postgresql://localhost/colony", False),
        ("postgresql://db.example/colony", True),
        ("postgresql:///colony?host=db.example", True),
        ("postgresql://localhost,db.example/colony", True),
        ("postgresql:///colony?hostaddr=10.0.0.1", True),
        ("postgresql://localhost/colony?host=db.example", True),
        ("postgresql:///colony?host=/run/postgresql&host=db.example", True),
        ("postgresql:///colony?host=/run/postgresql,db.example", True),
    ],
)
def test_whose_it_is(url: str, answer: bool) -> None:
    assert is_live(url) is answer
