"""Where the real Claude Code program is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "@anthropic-ai/claude-code-linux-x64"


@pytest.fixture(scope="session")
def program() -> str:
    """Named, in the checkout's own npm folder, or on PATH."""
    named = os.environ.get("TEST_CLAUDE")
    own = ROOT / ".claude-npm" / "node_modules" / PACKAGE / "claude"
    found = named or (str(own) if own.exists() else shutil.which("claude"))
    if found is None or not Path(found).exists():
        reason = f"no Claude Code: npm install --prefix .claude-npm {PACKAGE}, or TEST_CLAUDE"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
