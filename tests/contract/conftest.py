from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from edges import Cast, in_memory, on_file, over_http


@pytest.fixture(params=["file", "memory", "http"])
def cast(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cast]:
    """An empty tracker behind each edge, with its users."""
    if request.param == "http":
        with over_http() as served:
            yield Cast(served)
        return
    edge = on_file(tmp_path) if request.param == "file" else in_memory()
    yield Cast(edge)
    edge.service.close()
