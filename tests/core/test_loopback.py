"""What can only be this machine."""

from __future__ import annotations

import pytest

from colony.core.loopback import is_loopback


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("localhost", True),
        ("tracker.localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::1%lo", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.7", False),
        ("fe80::1%eth0", False),
        ("tracker.example.org", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_what_is_this_machine(host: str, answer: bool) -> None:
    assert is_loopback(host) is answer
