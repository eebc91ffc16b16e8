"""A session in a tree of its own: made ready, committed, bundled, merged; and what keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from orchard import Orchard, commit, git
from shop import verdict, worker

from colony.core.session import Outcome
from colony.flow.tree_work import BUNDLE

WRITES = [{"run": "echo open >gate.txt; echo new >key.txt; mkdir -p built; echo x >built/x"}]
Make = Callable[..., Orchard]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Orchard] = []

    def one(**more: object) -> Orchard:
        made.append(Orchard(tmp_path / "shop", **more))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for each in made:
        each.close()


def plays(orchard: Orchard, *work: dict[str, object], **more: object) -> None:
    orchard.play(work=[*(work or WRITES), *worker()], check=verdict(), **more)


def test_what_a_worker_left_is_committed_bundled_and_merged(make: Make) -> None:
    orchard = make()
    plays(orchard)
    ended = orchard.work()
    facts = ended.facts
    assert facts.outcome is Outcome.POSTED, orchard.lines
    assert orchard.in_base("show main:gate.txt") == "open"
    assert orchard.in_base("show main:key.txt") == "new"
    assert "built" not in orchard.in_base("ls-tree --name-only main").split()
    assert (orchard.dev / "gate.txt").read_text() == "open\n"
    assert orchard.in_base("status --porcelain") == ""
    tip = facts.tree.tip
    assert orchard.in_base("rev-parse colony/shop-1") == tip
    said = orchard.in_base(f"show -s --format=%an|%ae|%s {tip}")
    assert said == f"Colony|colony@localhost|shop#1: work of session {facts.session}"
    folder = orchard.folder_of(facts.session)
    assert folder.holds(BUNDLE, facts.tree.bundle_sha256)
    assert git(orchard.dev, "bundle", "list-heads", str(folder.path / BUNDLE)).startswith(tip)
    assert f"branch colony/shop-1 {tip[:12]}" in orchard.told()[-1] or any(
        f"branch colony/shop-1 {tip[:12]}" in text for text in orchard.told()
    )
    assert any("merged into main" in text for text in orchard.told())


def test_the_check_sees_the_work_committed(make: Make) -> None:
    orchard = make()
    finding = {"claim": "a note", "about": "verified", "status": "ok", "check": "ran it"}
    orchard.play(
        work=[*WRITES, *worker()],
        check=[
            {"run": "git status --porcelain >../status; git log --format=%an -1 >../author"},
            {"answer": {"verdict": "pass", "findings": [finding], "questions": []}},
        ],
    )
    orchard.work()
    assert (orchard.folder / "trees" / "status").read_text() == ""
    assert (orchard.folder / "trees" / "author").read_text() == "Colony\n"


def test_never_merges_nothing_and_says_where_the_work_is(make: Make) -> None:
    orchard = make(merge="never")
    plays(orchard)
    before = orchard.in_base("rev-parse main")
    facts = orchard.work().facts
    assert facts.outcome is Outcome.POSTED and facts.tree.tip
    assert orchard.in_base("rev-parse main") == before
    assert (orchard.dev / "gate.txt").read_text() == "closed\n"
    assert any(f"bundle {facts.tree.bundle_sha256[:12]}" in text for text in orchard.told())


def test_a_result_that_failed_its_check_is_not_merged(make: Make) -> None:
    orchard = make()
    bad = {"claim": "a note", "about": "verified", "status": "false", "check": "it is not"}
    orchard.play(work=[*WRITES, *worker()], check=verdict(verdict="fail", findings=[bad]))
    before = orchard.in_base("rev-parse main")
    facts = orchard.work().facts
    assert facts.outcome is Outcome.SENT_BACK
    assert orchard.in_base("rev-parse main") == before
    assert orchard.in_base("rev-parse colony/shop-1") == facts.tree.tip != ""


def test_half_of_the_work_waits_on_its_branch(make: Make) -> None:
    orchard = make()
    orchard.play(work=[*WRITES, *worker(complete=False, open=["the hinge"])], check=verdict())
    facts = orchard.work().facts
    assert facts.outcome is Outcome.HALF_DONE and facts.tree.tip and not facts.tree.merged
    assert orchard.in_base("show main:gate.txt") == "closed"


def test_a_conflict_sends_the_ticket_back_with_the_files(make: Make) -> None:
    orchard = make()
    meanwhile = f"cd {orchard.dev} && echo painted >gate.txt && git commit -qam painted"
    env = "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@a"
    plays(orchard, *WRITES, {"run": f"export {env}; {meanwhile}"})
    facts = orchard.work().facts
    assert facts.tree.conflicts == ("gate.txt",)
    assert facts.outcome is Outcome.HALF_DONE and orchard.state == "open"
    assert any("conflicts with main in gate.txt" in text for text in orchard.told())
    assert orchard.in_base("show main:gate.txt") == "painted"
    assert orchard.in_base("status --porcelain") == ""

    # The next worker sees it, has the newest base at hand, and brings the two together.
    merges = "git merge -q refs/colony/base; echo open and painted >gate.txt; git add -A"
    plays(orchard, {"run": f"export {env}; {merges}; git commit -qm together"})
    after = orchard.work().facts
    brief = orchard.folder_of(after.session).read("brief.md", 10**6)
    assert brief is not None and b"gate.txt" in brief and b"colony/shop-1" in brief
    assert after.outcome is Outcome.POSTED, orchard.lines
    assert orchard.in_base("show main:gate.txt") == "open and painted"


def test_a_base_that_is_not_clean_is_left_and_the_result_says_so(make: Make) -> None:
    orchard = make()
    plays(orchard)
    (orchard.dev / "fence.txt").write_text("blue\n")
    before = orchard.in_base("rev-parse main")
    facts = orchard.work().facts
    assert facts.outcome is Outcome.POSTED and facts.tree.merged == "left"
    assert orchard.in_base("rev-parse main") == before
    assert any("not merged into main" in text for text in orchard.told())


@pytest.mark.parametrize("where", ["planned", "moved"])
def test_a_crash_in_the_middle_of_a_merge_merges_once(make: Make, where: str) -> None:
    class Crash(BaseException):
        pass

    orchard = make()
    plays(orchard)
    session = orchard.new().session
    seen = []

    def stands_by(when: str) -> None:
        tree = orchard.facts(session).tree
        if where == "planned" and when == "after" and tree.merge_new and not seen:
            seen.append(when)
            raise Crash
        moved = tree.merge_new and orchard.in_base("rev-parse main") == tree.merge_new
        if where == "moved" and when == "before" and moved and not seen:
            seen.append(when)
            raise Crash

    with pytest.raises(Crash):
        orchard.go(session, saved=stands_by)
    facts = orchard.go(session).facts
    assert facts.outcome is Outcome.POSTED and facts.tree.merged == "merged"
    assert orchard.in_base("rev-parse main") == facts.tree.merge_new
    assert orchard.in_base("log --oneline --merges main").count("\n") == 0
    assert orchard.in_base("status --porcelain") == ""


def test_a_worker_that_changed_nothing_has_nothing_to_merge(make: Make) -> None:
    orchard = make()
    orchard.play(work=worker(), check=verdict())
    facts = orchard.work().facts
    assert facts.outcome is Outcome.POSTED and facts.tree.tip == ""
    assert any("branch colony/shop-1 has nothing new" in text for text in orchard.told())


def test_a_stale_lock_of_a_killed_git_keeps_nobody_from_working(make: Make) -> None:
    orchard = make()
    orchard.in_tree(orchard.history().ticket.ref)
    (orchard.tree / ".git" / "index.lock").touch()
    plays(
        orchard, {"run": "test ! -e .git/index.lock && echo open >gate.txt; touch .git/index.lock"}
    )
    facts = orchard.work().facts
    assert facts.tree.tip and orchard.in_base("show main:gate.txt") == "open"


@pytest.mark.parametrize(
    ("kind", "why"), [("another branch", "which does not go on"), ("merging", "is not ended")]
)
def test_what_cannot_be_saved_stays_in_its_tree_and_is_told(
    make: Make, kind: str, why: str
) -> None:
    orchard = make()
    env = (
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@a"
    )
    scripts = {
        "another branch": "git checkout -q --orphan other; git commit -qm alone; echo x >draft",
        "merging": "git checkout -q -b b; echo b >gate.txt; git commit -qam b;"
        " git checkout -q colony/shop-1; echo c >gate.txt; git commit -qam c; git merge -q b || :",
    }
    plays(orchard, {"run": f"{env}; {scripts[kind]}"})
    facts = orchard.work().facts
    assert why in facts.tree.not_saved and not facts.tree.merged
    assert any("is not saved" in text for text in orchard.told())
    assert orchard.tree.is_dir() and orchard.reaper.reap("", lambda: False) == ()


def test_no_hook_or_driver_of_a_tree_runs_outside_its_box(make: Make, tmp_path: Path) -> None:
    """F77: what one session leaves there, neither Colony nor the next session's save obeys."""
    orchard = make()
    canary = tmp_path / "canary"
    plant = (
        f"mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {canary}\\n' >.git/hooks/pre-commit;"
        " chmod +x .git/hooks/*; cp .git/hooks/pre-commit .git/hooks/reference-transaction;"
        f" git config core.fsmonitor {canary}.sh; echo open >gate.txt"
    )
    plays(orchard, {"run": plant})
    facts = orchard.work().facts
    assert facts.tree.merged == "merged"
    assert not canary.exists()


# --- making a tree ready -----------------------------------------------------------------------


def test_setup_runs_once_for_the_same_commands_and_lock_files(make: Make) -> None:
    orchard = make(commands=("echo 1 >>built; true", "echo $COLONY_SESSION >built.session"))
    commit(orchard.dev, {".gitignore": "built\nbuilt.session\n", "uv.lock": "one"})
    plays(orchard, {"run": "cp built ../before"})
    orchard.work()
    orchard.moves("open")
    orchard.work()
    assert (orchard.folder / "trees" / "before").read_text() == "1\n"
    orchard.moves("open")
    plays(orchard, {"run": "echo two >uv.lock"})
    orchard.work()
    orchard.moves("open")
    plays(orchard, {"run": "cp built ../before"})
    orchard.work()
    assert (orchard.folder / "trees" / "before").read_text() == "1\n1\n"


def test_a_setup_that_fails_is_told_tried_again_and_keeps_nobody_from_working(make: Make) -> None:
    orchard = make(commands=("echo no network >&2; false", "touch never"))
    plays(orchard)
    facts = orchard.work().facts
    assert facts.outcome is Outcome.POSTED
    assert any("no network" in text for text in orchard.warned())
    assert "no network" in facts.tree.not_ready and not (orchard.tree / "never").exists()
    record = orchard.trees.record("shop-1")
    assert record is not None and record.setup == ""


def test_setup_runs_in_the_box_of_the_session(make: Make) -> None:
    orchard = make(commands=("readlink /proc/self/ns/pid >../pids; (setsid sleep 7654321 &)",))
    plays(orchard)
    orchard.work()
    assert (orchard.folder / "trees" / "pids").read_text().strip() != str(
        Path("/proc/self/ns/pid").readlink()
    )
    running = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if _there(each)]
    assert not [each for each in running if b"7654321" in each and b"sleep" in each[:5]]


def _there(path: Path) -> bool:
    try:
        return bool(path.read_bytes())
    except OSError:
        return False
