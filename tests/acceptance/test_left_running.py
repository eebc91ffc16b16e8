"""What a worker leaves running ends with its part, whatever session or group it moved to."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import (
    PORTS,
    ROOT,
    Colony,
    carriers,
    clean_environment,
    end,
    make_project,
    marked,
    skip_or_fail,
    until,
)
from tests.acceptance.model import Model, bash, report, texts, verdict, waiting

pytestmark = pytest.mark.real_claude

NOBODY = 65534
MARK = f"{72_000_000 + os.getpid()}"
"""Seconds that only processes of these tests sleep: so they can be found."""
BOTH_RUN = f"[ \"$(pgrep -cxf 'sleep {MARK}')\" = 2 ]"
LEAVE = f"""
setsid sleep {MARK} >/dev/null 2>&1 &
(env -i setsid sh -c 'sleep {MARK} & exit' >/dev/null 2>&1 &)
setsid PYTHON -c '
import os, signal, socket
open("daemon.txt", "w").write(os.environ["COLONY_SESSION"])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = socket.create_server(("127.0.0.1", int(os.environ["COLONY_PORT_FROM"])))
print("listening", flush=True)
server.accept()
' > daemon.out 2>&1 &
until [ "$(cat daemon.out)" = listening ] && {BOTH_RUN}; do /bin/sleep 0.05; done
echo 370 > total.txt; pgrep -axf 'sleep {MARK}'
"""
"""Three daemons: one in a session of its own, one that forked twice and dropped its environment,
and one that listens on a port of the session and takes no hint."""


def leaves(shop: Colony) -> str:
    return LEAVE.replace("PYTHON", shop.python[-1])


def works_and_leaves(shop: Colony, model: Model) -> None:
    model.plays("work", [bash(leaves(shop)), report()])
    model.plays(
        "check", [bash(f"(setsid sleep {MARK} >/dev/null 2>&1 &); cat total.txt"), verdict()]
    )
    done = shop("cycle", "--post")
    assert done.code == 0, done
    [run] = shop.runs
    seen = texts(model.requests("work")[-1]["messages"][-1:])
    assert seen.count(f"sleep {MARK}") == 2, "they did run"
    assert (shop.project / "daemon.txt").read_text() == run.name
    assert not carriers(run.name)
    assert not marked(MARK)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", PORTS))


@pytest.fixture(autouse=True)
def no_mark_is_left() -> Iterator[None]:
    yield
    end(marked(MARK))


@pytest.fixture(params=["namespaces", "subreaper"])
def tier(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The environment that gives each tier of containment."""
    if request.param == "namespaces":
        if not shutil.which("bwrap"):
            skip_or_fail("bubblewrap is not installed")
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="colony-") as folder:
        programs = Path(folder)
        programs.chmod(0o755)
        for program in Path("/usr/bin").iterdir():
            if program.name != "bwrap":
                (programs / program.name).symlink_to(program)
        yield {"COLONY_SANDBOX": "off", "PATH": str(programs)}


def test_nothing_is_left(real: Colony, model: Model, tier: dict[str, str]) -> None:
    real.environ |= tier
    works_and_leaves(real, model)


@pytest.mark.parametrize("tier", ["namespaces"], indirect=True)
def test_a_killed_colony_leaves_nothing(
    real: Colony, model: Model, tier: dict[str, str], tmp_path: Path
) -> None:
    flag = real.project / "flag"
    model.plays("work", [bash(leaves(real) + waiting(flag))])
    process = real.hang(flag, "work", "shop", "1", "--post")
    [run] = real.runs
    assert len(marked(MARK)) >= 2
    process.kill()
    until(lambda: not carriers(run.name) and not marked(MARK), 5)


def test_what_an_earlier_start_left_is_ended_and_told(shop: Colony) -> None:
    session = "s-20260131T1819-0a1b2c"
    left = subprocess.Popen(["sleep", MARK], env={"PATH": os.defpath, "COLONY_SESSION": session})
    done = shop("work", "shop", "1", "--post", "--session", session, COLONY_AGENT="stand-in")
    assert done.code == 0, done
    assert left.wait(10) == -signal.SIGTERM
    told = f"stopped pid {left.pid} (TERM): sleep {MARK}"
    assert done.told("work: CLEANUP") == [f"work: CLEANUP {told}"]
    assert [part["cleanup"] for part in shop.record()["parts"]] == [[told], []]


# --- as somebody without rights --------------------------------------------------------------

AS_NOBODY = """
set -e
for name in python packages checkout claude; do
  mount --bind "$1" "$PLACE/$name"
  shift
done
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs -- "$@"
"""
"""In a mount namespace of its own: what root alone may read is shown at a place of its own."""


@pytest.fixture
def nobodys(model: Model, claude: str) -> Iterator[Colony]:
    """Colony run by a user without any rights, with a home and a project of that user."""
    if os.geteuid() != 0:
        pytest.skip("not root: the other tests run without rights already")
    for needed in ("unshare", "setpriv"):
        if not shutil.which(needed):
            skip_or_fail(f"{needed} (util-linux) is not installed")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this root may not make a mount namespace")
    program = Path(claude).resolve()
    with tempfile.TemporaryDirectory(prefix="colony-") as folder:
        place = Path(folder)
        shown = {
            "python": sys.base_prefix,
            "packages": sysconfig.get_path("purelib"),
            "checkout": str(ROOT),
            "claude": str(program.parent),
        }
        for name in shown:
            (place / name).mkdir()
        home = place / "home"
        home.mkdir()
        for path in (place, *place.iterdir()):
            path.chmod(0o755)
        made = Colony(home, make_project(place / "shop"), clean_environment(home, model))
        made.environ |= {
            "PLACE": str(place),
            "PYTHONPATH": f"{place}/checkout:{place}/packages",
            "COLONY_SANDBOX_RO": f"{place}/python",
            "COLONY_CLAUDE": f"{place}/claude/{program.name}",
        }
        python = f"{place}/python/bin/python{sys.version_info.major}.{sys.version_info.minor}"
        start = ("unshare", "--mount", "sh", "-c", AS_NOBODY, "nobody", *shown.values())
        made.python = (*start, python)
        made.register(allowedTools=["Bash"])
        for path in (place, home, made.project, *home.rglob("*"), *made.project.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        made.ticket("A total")
        yield made
        made.end()


@pytest.mark.parametrize("tier", ["namespaces", "subreaper"], indirect=True)
def test_nothing_is_left_without_rights(
    nobodys: Colony, model: Model, tier: dict[str, str]
) -> None:
    nobodys.environ |= tier
    works_and_leaves(nobodys, model)
    assert (nobodys.project / "total.txt").stat().st_uid == NOBODY
    assert nobodys.state() == "review"
