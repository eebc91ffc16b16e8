"""What holds for every test: how patient the generated ones are, and where it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Times on a busy machine mean nothing: no single example fails for how long it took. The rest is
# Hypothesis's own choice, which differs in CI.
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def back_where_it_began() -> Iterator[None]:
    """Whoever leaves the process in a folder that goes away spoils the tests after it."""
    before = Path.cwd()
    yield
    assert Path.cwd() == before
