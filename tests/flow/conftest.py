from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shop import Judged, Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "shop")
    yield made
    made.close()


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Judged]:
    """A session that passed its check."""
    made = Judged(tmp_path, {})
    yield made
    made.close()
