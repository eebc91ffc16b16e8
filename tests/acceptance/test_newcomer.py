"""The first five minutes: from a repository that Colony has never seen to a result to try."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.conftest import KEY, Colony, git, prints
from tests.acceptance.model import Model, bash, report, verdict

pytestmark = pytest.mark.real_claude


def test_from_nothing_to_a_result(colony: Colony, model: Model, claude: str) -> None:
    git(colony.project, "rm", "-q", "CONCEPT.md")
    git(colony.project, "commit", "-q", "-m", "No concept yet")
    colony.environ |= {"COLONY_CLAUDE": claude, "COLONY_ALLOWED_TOOLS": "Bash"}

    # Before anything is there, every verb says in one line what is missing.
    for words in (("next",), ("work", "shop", "1")):
        early = colony(*words)
        assert early.code == 4, early
        assert len((early.out + early.err).splitlines()) <= 2
    assert not colony.home.exists()

    made = colony("init")
    assert made.code == 0, made
    assert made.lines[-1] == "INIT shop is registered"
    assert (colony.project / "CONCEPT.md").read_text().strip()
    ticket = colony("ticket", "new", "A total", "--summary", "Write the sum into `total.txt`.")
    assert ticket.code == 0, ticket
    assert ticket.lines == ["TICKET shop#1 open — A total"]
    assert colony("next").lines[0] == 'NEXT: shop#1 "A total"'
    brief = colony("brief", "shop", "1")
    assert brief.code == 0, brief
    assert "Write the sum" in (colony.home / "briefs" / "shop-1.md").read_text()

    before = prints(colony.home, colony.project)
    dry = colony("work", "shop", "1", "--dry-run")
    assert dry.code == 0, dry
    [told] = dry.lines
    assert told.startswith("work: DRY RUN — would lease shop#1 and run claude")
    assert prints(colony.home, colony.project) == before
    assert not colony.runs
    assert not model.stub.requests

    model.plays("work", [bash("echo 370 > total.txt"), report()])
    model.plays("check", [bash("cat total.txt"), verdict()])
    done = colony("work", "shop", "1", "--post")
    assert done.code == 0, done
    assert done.lines[-1] == "WORK DONE — shop#1 is in review: its creator can try it"
    shown = colony("ticket", "show", "shop", "1")
    assert shown.code == 0, shown
    assert shown.lines[0] == "TICKET shop#1 review — A total"
    assert "2. Read 370." in shown.out
    assert "colony-" not in shown.out, "machine lines are for programs"
    assert colony("leases").lines[-1].startswith("LEASES: 0 in progress")
    assert colony("next").lines[0] == "NEXT: nothing to do"


def test_doctor_leads_from_nothing_to_a_result(colony: Colony, model: Model, claude: str) -> None:
    """Whoever does what its failing lines say, the first one first, ends at a session that works.

    Two things are the newcomer's own: which folder, and which key.
    """
    del colony.environ["ANTHROPIC_API_KEY"]
    env_file = colony.home / ".env"
    own = {"COLONY_CLAUDE": claude, "ANTHROPIC_API_KEY": KEY}
    done = colony("doctor")
    assert not colony.home.exists()
    steps = []
    while done.code:
        assert len(steps) < 6, steps
        line = done.told("DOCTOR FAIL")[0]
        steps.append(line.split(" — ")[0])
        command = re.search(r"`colony ([^`]+)`", line)
        named = re.search("COLONY_CLAUDE|ANTHROPIC_API_KEY", line)
        if command:
            assert colony(*command[1].replace("FOLDER", str(colony.project)).split()).code == 0
        elif named is not None and named[0].startswith("COLONY_"):
            env_file.write_text(f"{named[0]}={own[named[0]]}\n")
        else:
            assert named is not None, line
            colony.environ[named[0]] = own[named[0]]
        done = colony("doctor")
    assert steps == ["DOCTOR FAIL projects", *["DOCTOR FAIL agent claude"] * 2]
    assert not model.stub.requests, "doctor has asked the model something"
    assert KEY not in done.out
    [agent] = done.told("DOCTOR ok   agent claude")
    assert "(Claude Code), login by ANTHROPIC_API_KEY" in agent

    colony.environ["COLONY_ALLOWED_TOOLS"] = "Bash"
    assert colony("ticket", "new", "A total").code == 0
    model.plays("work", [bash("echo 370 > total.txt"), report()])
    model.plays("check", [bash("cat total.txt"), verdict()])
    worked = colony("work", "shop", "1", "--post")
    assert worked.lines[-1] == "WORK DONE — shop#1 is in review: its creator can try it"
