"""The API fuzzed from its own description: no answer that it does not promise, and no bug."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.conftest import Api

SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("who", "part"),
    [("anna", ["--exclude-method", "PUT"]), ("colony", ["--include-method", "PUT"])],
)
def test_no_answer_is_undocumented(api: Api, tmp_path: Path, who: str, part: list[str]) -> None:
    """Valid and broken requests alike. That valid ones are taken is not asked: shape is the
    description's to say, and whether a value may stand is the store's."""
    anna = api.client("anna")
    for subject in ("A cart", "A till"):
        anna.post("/api/tickets", json={"project": "shop", "subject": subject})
    done = subprocess.run(
        [
            str(SCHEMATHESIS), "run", f"{api.url}/openapi.json",
            "--header", f"Authorization: Bearer {api.token(who)}",
            "--checks", "all", "--exclude-checks", "positive_data_acceptance",
            "--phases", "examples,coverage,fuzzing", "--max-examples", "5",
            "--generation-deterministic", "--no-color", *part,
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    assert api.store.bugs == []
    # Some of what was asked was done: not everything ended at the door.
    assert len(api.store.service.changes(0).events) > 6 or api.store.service.hosts()
