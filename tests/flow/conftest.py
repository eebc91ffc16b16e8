from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shop import Judged, Shop


@pytest.fixture(params=["embedded", "http"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    """The shop, its tracker reached by each edge."""
    made = Shop(tmp_path / "shop", edge=request.param)
    yield made
    made.close()


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Judged]:
    """A session that passed its check."""
    made = Judged(tmp_path, {})
    yield made
    made.close()
