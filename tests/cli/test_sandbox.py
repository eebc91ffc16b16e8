"""The box around each agent, through the public commands (seed 002, antcolony#18).

| rule | test |
|---|---|
| system and own folder; no home, other project or session | test_what_a_worker_sees |
| `.env*` is empty, examples are not | test_a_projects_variables_are_empty |
| what it depends on, COLONY_SANDBOX_RO: read-only | test_what_it_may_read_it_cannot_write |
| the run folder for the controller, but its record | test_the_controller_reads_the_run_folder |
| the run folder that a brief names | test_the_next_worker_reads_the_attempt_before |
| Colony's home as the dev folder | test_a_home_that_is_the_dev_folder |
| Colony's home in a place that is shown | test_a_home_in_the_dev_folder_is_covered |
| token variables are gone | test_no_variable_of_colony_is_in_there |
| its own processes and nothing else | test_it_sees_its_own_processes_alone |
| the deploy mark | test_the_deploy_mark_… |
| places that run later | test_what_runs_later_… |
| no box: refused before the lease | test_no_box_no_lease |
| a box that does not hold: the same, and a part ends | test_a_box_that_does_not_hold |
| `colony box` | test_the_prefix… |
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done
from tests.cli.stage import CART, LIE, Stage, answer, make_stage, moves, valid

MARK = "colony-deploy: yes"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = make_stage(tmp_path)
    made.environ["COLONY_SANDBOX"] = "on"
    made.register("shop")
    made.ticket()
    return made


def worker(stage: Stage, script: str, *, ends: Any = None, **parts: Any) -> Done:
    """Work the ticket with a worker that runs this script; `seen` tells what it wrote."""
    (stage.cwd / "dev-shop" / "look.sh").write_text(script)
    run = {"run": "sh look.sh >seen.txt 2>&1"}
    stage.script(work=[run, ends or answer()], **parts)
    return stage("work", "shop", "1", "--post")


def seen(stage: Stage) -> list[str]:
    return (stage.cwd / "dev-shop" / "seen.txt").read_text().splitlines()


def test_what_a_worker_sees(stage: Stage) -> None:
    user_home = stage.home.parent
    (user_home / ".ssh").mkdir()
    (user_home / ".ssh" / "id_ed25519").write_text("a key")
    (user_home / ".config").mkdir()
    (user_home / ".gitconfig").write_text("[user]\n\tname = anna\n")
    stage.register("other")
    (stage.cwd / "dev-other" / "plan.txt").write_text("a plan")
    earlier = stage.home / "runs" / "s-20260131T1819-abc123"
    earlier.mkdir(parents=True)
    (earlier / "brief.md").write_text("a brief of another project")
    outside = [
        stage.database, earlier / "brief.md", user_home / ".ssh" / "id_ed25519",
        stage.cwd / "dev-other" / "plan.txt", stage.home / "script.json.bak",
        Path("/root/.profile"),
    ]  # fmt: skip
    (stage.home / "script.json.bak").write_text("{}")
    names = " ".join(shlex.quote(str(each)) for each in outside)
    done = worker(
        stage,
        f"""for each in {names}; do cat "$each" >/dev/null 2>&1 && echo "seen $each"; done
ls -A ~ | sort | tr '\\n' ' '; echo
cat ~/.gitconfig | tail -1
ls -A /tmp | wc -l; ls -A /var /run | tr '\\n' ' '; echo
touch made-here && echo "works here"
touch /usr/bin/new /etc/new /new ~/../new 2>/dev/null && echo "wrote outside"
exit 0
""",
    )
    assert done.code == 0, done
    assert set(seen(stage)[0].split()) == {".gitconfig", "home", "work"}, "the way to its own"
    assert seen(stage)[1] == "\tname = anna"
    assert seen(stage)[4:] == ["works here"] or seen(stage)[-1] == "works here"
    assert not [line for line in seen(stage) if line.startswith(("seen ", "wrote "))]
    assert (stage.cwd / "dev-shop" / "made-here").exists()


def test_a_projects_variables_are_empty(stage: Stage) -> None:
    for name in (".env", ".env.production", "apps/.env", ".env.example"):
        path = stage.cwd / "dev-shop" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("KEY=canary\n")
    worker(stage, "cat .env .env.production apps/.env; echo; cat .env.example; echo x >.env")
    assert seen(stage)[:2] == ["", "KEY=canary"]
    assert "Read-only" in seen(stage)[2] or "cannot create" in seen(stage)[2]
    assert (stage.cwd / "dev-shop" / ".env").read_text() == "KEY=canary\n"


def test_what_it_may_read_it_cannot_write(stage: Stage, tmp_path: Path) -> None:
    stage.register("base")
    stage.ticket("base")
    (stage.cwd / "dev-base" / "api.txt").write_text("the api\n")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "guide.txt").write_text("the guide\n")
    stage.register("shop", dependsOn=["base"])
    stage.environ["COLONY_SANDBOX_RO"] = str(docs)
    base = stage.cwd / "dev-base"
    done = worker(
        stage,
        f"cat {base}/api.txt {docs}/guide.txt\n"
        f"for each in {base}/api.txt {docs}/guide.txt; do (echo x >>$each) 2>/dev/null || echo no;"
        " done",
    )
    assert done.code == 0, done
    assert seen(stage) == ["the api", "the guide", "no", "no"]


def test_the_controller_reads_the_run_folder(stage: Stage) -> None:
    look = "\n".join([
        'cd "$(dirname "$(dirname "$TMPDIR")")"',
        "ls; (echo x >brief.md) 2>/dev/null && echo wrote",
    ])  # fmt: skip
    (stage.cwd / "dev-shop" / "look.sh").write_text(look)
    check = [{"run": "sh look.sh >seen.txt 2>&1"}, {"recheck": True}]
    stage.script(work=[answer()], check=check)
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0, done
    assert {"brief.md", "report.json", "parts"} <= set(seen(stage))
    assert not {"session.json", "lock", "home", "wrote"} & set(seen(stage))
    assert not (stage.run / "brief.md").read_text().startswith("x")


def test_the_next_worker_reads_the_attempt_before(stage: Stage) -> None:
    stage.script(work=[LIE])
    assert stage("work", "shop", "1", "--post").code == 1
    [first] = stage.runs
    worker(stage, f"head -c 1 {first}/report.json; echo; ls {first.parent}; ls {first}")
    assert seen(stage)[0] == "{"
    assert seen(stage)[1:3] == sorted(each.name for each in stage.runs)
    assert not {"session.json", "lock"} & set(seen(stage)[3:])
    [second] = set(stage.runs) - {first}
    assert stage.record(second)["earlier"] == first.name


def test_a_home_that_is_the_dev_folder(stage: Stage) -> None:
    """Colony works on itself: what it keeps there is nobody's to see."""
    project = stage.home / "projects" / "shop.json"
    data = json.loads(project.read_text()) | {"dev": {"folder": str(stage.home)}}
    (stage.home / "concept.md").write_text("# A scheduler\n")
    project.write_text(json.dumps(data | {"concept": "concept.md"}))
    (stage.home / ".env").write_text("COLONY_USER=colony\n")
    (stage.home / "logs").mkdir()
    (stage.home / "logs" / "colony.log").write_text("a line")
    look = "wc -c <.env; wc -c <colony.db; ls logs runs; touch runs/x logs/x"
    stage.script(work=[{"run": f"({look}) >seen.txt 2>&1"}, answer()])
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0, done
    lines = (stage.home / "seen.txt").read_text().splitlines()
    assert lines[:2] == ["0", "0"]
    assert "colony.log" not in lines
    assert not (stage.home / "logs" / "x").exists()


def test_a_home_in_the_dev_folder_is_covered(tmp_path: Path) -> None:
    stage = make_stage(tmp_path)
    stage.environ["COLONY_SANDBOX"] = "on"
    stage.register("shop")
    inner = stage.cwd / "dev-shop" / "colony-home"
    stage.home.rename(inner)
    stage.home = inner
    stage.environ |= {
        "COLONY_HOME": str(inner), "COLONY_STAND_IN_SCRIPT": str(inner / "script.json"),
    }  # fmt: skip
    stage.ticket()
    done = worker(stage, "ls -A colony-home; (touch colony-home/x) 2>/dev/null && echo wrote")
    assert done.code == 0, done
    assert set(seen(stage)) <= {"runs", "script.json"}
    assert not (inner / "x").exists()


def test_no_variable_of_colony_is_in_there(stage: Stage, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("canary")
    stage.environ |= {"COLONY_USER_AGENT": "canary", "COLONY_TOKEN_FILE": str(token)}
    worker(stage, f"env | grep ^COLONY_ | cut -d= -f1 | sort; cat {token}")
    assert seen(stage)[:4] == [
        "COLONY_PORTS", "COLONY_PORT_FROM", "COLONY_PORT_TO", "COLONY_SESSION",
    ]  # fmt: skip
    assert "canary" not in "\n".join(seen(stage)[4:])


def test_it_sees_its_own_processes_alone(stage: Stage) -> None:
    worker(stage, "for each in /proc/[0-9]*; do tr '\\0' ' ' <$each/cmdline; echo; done")
    assert any("look.sh" in line for line in seen(stage))
    assert not [line for line in seen(stage) if "-m colony work" in line or "xdist" in line]


# --- the deploy mark -------------------------------------------------------------------------


def with_site(stage: Stage) -> tuple[Path, str]:
    """A live folder and a key; what a part writes to see whether it reaches them."""
    site = stage.home.parent / "site"
    site.mkdir()
    (stage.home.parent / ".ssh").mkdir()
    (stage.home.parent / ".ssh" / "id").write_text("key")
    live = {"url": "https://shop.example", "folder": str(site)}
    stage.register("shop", live=live)
    look = f"(touch {site}/NAME) 2>/dev/null && echo site; cat ~/.ssh/id 2>/dev/null; exit 0"
    return site, look


def test_the_deploy_mark_of_a_creator_opens_the_site_for_the_worker_alone(stage: Stage) -> None:
    site, look = with_site(stage)
    stage.comment(CART, f"Please.\n{MARK}")
    check = [{"run": look.replace("NAME", "by-controller")}, {"recheck": True}]
    done = worker(stage, look.replace("NAME", "by-worker"), check=check)
    assert done.code == 0, done
    assert seen(stage) == ["site", "key"]
    assert [each.name for each in site.iterdir()] == ["by-worker"]
    assert stage.record()["setup"]["deploy"] is True


@pytest.mark.parametrize("user", ["ben", None])
def test_the_deploy_mark_of_anybody_else_opens_nothing(stage: Stage, user: str | None) -> None:
    site, look = with_site(stage)
    if user is not None:
        stage.comment(CART, MARK, user)
    worker(stage, look.replace("NAME", "by-worker"))
    assert seen(stage) == []
    assert not list(site.iterdir())


def test_the_deploy_mark_is_kept_for_a_session_that_goes_on(stage: Stage) -> None:
    _, look = with_site(stage)
    stage.comment(CART, MARK)
    (stage.cwd / "dev-shop" / "look.sh").write_text(look.replace("NAME", "by-worker"))
    stage.script(
        work=[{"limit": "five_hour", "reset_in": 1}],
        resume=[{"run": "sh look.sh >seen.txt 2>&1"}, answer()],
    )
    assert stage("work", "shop", "1", "--post").code == 0
    assert stage("work", "shop", "1", "--post").code == 0
    assert seen(stage) == ["site", "key"]


# --- what runs later -------------------------------------------------------------------------


def git(stage: Stage, *words: str) -> str:
    shop = stage.cwd / "dev-shop"
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
        cwd=shop, check=True, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(shop)},
    ).stdout  # fmt: skip


LATER = """
echo 'touch canary' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
git config core.fsmonitor 'touch canary'; mv .git .git2; rm -rf .git/hooks
mkdir -p .claude .github/workflows; echo '{}' >.claude/settings.json; echo '{}' >.mcp.json
echo 'on: push' >.github/workflows/ci.yml; echo 'touch canary' >.bashrc
git -c user.name=w -c user.email=w@example.org commit -q --allow-empty -m work && echo committed
exit 0
"""


def test_what_runs_later_is_closed_or_goes(stage: Stage) -> None:
    git(stage, "init", "-q", "-b", "main")
    git(stage, "commit", "-q", "--allow-empty", "-m", "first")
    config = (stage.cwd / "dev-shop" / ".git" / "config").read_text()
    done = worker(stage, LATER)
    assert done.code == 0, done
    shop = stage.cwd / "dev-shop"
    assert "committed" in seen(stage), "the worker may commit"
    assert (shop / ".git" / "config").read_text() == config
    assert not (shop / ".git" / "hooks" / "post-checkout").exists()
    for gone in (".claude/settings.json", ".mcp.json", ".github/workflows", ".bashrc"):
        assert not (shop / gone).exists(), gone
    told = [line for line in done.lines if line.startswith("work: CLEANUP removed")]
    assert len(told) == 4, done
    assert len(stage.record()["parts"][0]["cleanup"]) == 4
    git(stage, "checkout", "-q", "-b", "next")
    assert not (shop / "canary").exists()


def test_what_runs_later_is_let_be_where_the_registry_says_so(stage: Stage) -> None:
    stage.register("shop", writable=[".github"])
    worker(stage, "mkdir -p .github/workflows; echo 'on: push' >.github/workflows/ci.yml")
    assert (stage.cwd / "dev-shop" / ".github" / "workflows" / "ci.yml").exists()


def test_what_a_killed_part_left_goes_when_it_is_settled(stage: Stage) -> None:
    left = {"run": "echo '{}' >.mcp.json"}
    stage.script(work=[left, {"hang": True}], resume=[answer()])
    running = stage.start("work", "shop", "1", "--post")
    mcp = stage.cwd / "dev-shop" / ".mcp.json"
    while not mcp.exists():
        assert running.poll() is None, running.communicate()
    running.kill()
    running.communicate()
    assert stage("work", "shop", "1", "--post").code == 0
    assert not mcp.exists()


# --- no box ----------------------------------------------------------------------------------


def test_no_box_no_lease(stage: Stage) -> None:
    before = stage.store()
    done = stage("work", "shop", "1", "--post", PATH="/nonexistent")
    assert done.code == 3
    assert "no sandbox: bwrap is not installed" in done.lines[-1]
    assert (stage.store(), stage.runs) == (before, [])


def test_a_box_that_does_not_hold(stage: Stage, tmp_path: Path) -> None:
    """The dev folder cannot be written in there: found before the ticket is touched."""
    before = stage.store()
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "bwrap").write_text(
        '#!/bin/sh\n[ "$1" = --args ] || exec /usr/bin/bwrap "$@"\n'
        'a=$1 b=$2\nshift 2\nexec /usr/bin/bwrap "$a" "$b" --setenv NEW 1 "$@"\n'
    )
    (programs / "bwrap").chmod(0o755)
    done = stage("work", "shop", "1", "--post", PATH=f"{programs}:/usr/bin:/bin")
    assert done.code == 3
    assert "the box does not hold" in done.lines[-1]
    assert (stage.store(), stage.runs) == (before, [])


def test_a_dev_folder_that_holds_the_home_folder_is_refused(stage: Stage) -> None:
    done = stage("work", "shop", "1", "--post", HOME=str(stage.cwd / "dev-shop"))
    assert done.code == 3
    assert "holds your home folder" in done.lines[-1]
    assert moves(stage) == []


# --- colony box ------------------------------------------------------------------------------


def run_in(stage: Stage, *words: str, inside: str) -> str:
    prefix = stage("box", "shop", *words)
    assert prefix.code == 0, prefix
    return subprocess.run(
        [*prefix.out.splitlines(), "sh", "-c", inside],
        env=stage.environ, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


def test_the_prefix_starts_a_program_where_a_worker_is(stage: Stage) -> None:
    assert run_in(stage, inside="pwd; ls -A ~; touch x && ls").splitlines()[0] == str(
        stage.cwd / "dev-shop"
    )
    assert (stage.cwd / "dev-shop" / "x").exists()
    assert stage.runs == []


def test_the_prefix_for_another_folder_and_with_the_deploy_mark(stage: Stage) -> None:
    site, _ = with_site(stage)
    other = stage.cwd / "elsewhere"
    other.mkdir()
    assert run_in(stage, "--folder", str(other), inside="pwd").strip() == str(other)
    assert run_in(stage, inside=f"ls -d {site} 2>/dev/null || echo none").strip() == "none"
    assert run_in(stage, "--deploy", inside=f"ls -d {site}; ls ~/.ssh").split() == [str(site), "id"]


def test_the_prefix_in_json_and_a_trial(stage: Stage) -> None:
    [line] = valid(stage("box", "shop", "--json"))
    assert line["argv"] == stage("box", "shop").out.splitlines()
    [line] = valid(stage("box", "shop", "--try", "--json"))
    assert (line["kind"], line["project"]) == ("box", "shop")
    assert stage("box", "shop", "--try").lines[0].startswith("BOX shop — holds, tried out in ")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [(("box", "nosuch"), 3, "nosuch"), (("box", "shop", "--folder", "/nonexistent"), 2, "no such"),
     (("box", "shop", "--sandbox", "off"), 3, "COLONY_SANDBOX=off")],
)  # fmt: skip
def test_what_has_no_prefix_is_said(
    stage: Stage, words: tuple[str, ...], code: int, told: str
) -> None:
    done = stage(*words)
    assert done.code == code
    assert told in done.out + done.err
