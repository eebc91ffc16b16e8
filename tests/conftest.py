"""What holds for every test: its order, its folder, how patient generated ones are, its end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

# Times on a busy machine mean nothing: no single example fails for how long it took. The rest is
# Hypothesis's own choice, which differs in CI.
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

IN_MEMORY: Final = Path("/dev/shm")
ROOM: Final = 4 * 1024**3
"""Bytes that must be free there; a whole run leaves a small part of it."""


def pytest_configure(config: pytest.Config) -> None:
    """Folders of tests lie in memory where they can: a session waits for the disk fifty times, and
    no test takes the power away. `--basetemp` and `PYTEST_DEBUG_TEMPROOT` say otherwise."""
    usable = os.access(IN_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM
    if usable and not config.getoption("basetemp"):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, in whatever order the rest is: a run must not end with one alone."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(autouse=True)
def back_where_it_began() -> Iterator[None]:
    """Whoever leaves the process in a folder that goes away spoils the tests after it."""
    before = Path.cwd()
    yield
    assert Path.cwd() == before
