"""Addresses of trackers."""

from __future__ import annotations

import pytest

from colony.core.address import file_in, is_embedded, is_served


@pytest.mark.parametrize(
    ("url", "file", "embedded", "served"),
    [
        ("sqlite:///colony.db", "colony.db", True, False),
        ("sqlite:////home/x/colony.db", "/home/x/colony.db", True, False),
        ("sqlite:///:memory:", None, True, False),
        ("http://tracker:8600", None, False, True),
        ("https://tracker.example.org/sqlite:///", None, False, True),
        ("postgresql://db/colony", None, False, False),
    ],
)
def test_what_an_address_leads_to(url: str, file: str | None, embedded: bool, served: bool) -> None:
    assert (file_in(url), is_embedded(url), is_served(url)) == (file, embedded, served)
