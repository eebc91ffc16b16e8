"""The self-test: a box that holds passes, and each single hole is found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from colony.host.box import WHOLE_MACHINE, Namespaces, NoBox, detect, sealed
from colony.host.launch import Command
from colony.host.proof import Proof, prove
from colony.host.view import Wanted, mounts_for
from tests.host.conftest import CLOCK, namespaces

PROOF = Proof("sh")


@dataclass
class Scene:
    box: Namespaces
    wanted: Wanted
    command: Command

    def prove(self, box: Namespaces | None = None, proof: Proof = PROOF) -> None:
        prove(box or self.box, self.command, proof, CLOCK)

    def with_mounts(self, *options: str) -> Namespaces:
        return replace(self.box, mounts=(*self.box.mounts, *options))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    namespaces()
    for name in ("shop", "home", "tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / "empty").touch()
    wanted = Wanted(
        folder=tmp_path / "shop",
        own=((tmp_path / "home", Path("/home/anna")), (tmp_path / "tmp", Path("/tmp"))),
        user_home=Path("/home/anna"),
        empty_file=tmp_path / "empty",
    )
    base = detect("on", CLOCK)
    assert isinstance(base, Namespaces)
    command = Command(
        argv=("true",),
        env={"PATH": "/usr/bin:/bin", "HOME": "/home/anna", "WORDS": "two\nlines = 1"},
        cwd=tmp_path / "shop",
        stdin=Path(os.devnull),
        stdout=tmp_path / "out",
        stderr=tmp_path / "err",
    )
    yield Scene(sealed(base, mounts_for(wanted), userns=False), wanted, command)
    assert not (tmp_path / "out").exists(), "nothing of the command was run"


def test_a_box_that_holds_passes(scene: Scene) -> None:
    scene.prove()


def test_one_with_namespaces_of_its_own_passes_where_they_are_allowed(scene: Scene) -> None:
    scene.prove(sealed(scene.box, mounts_for(scene.wanted), userns=True))


def test_a_machine_that_can_be_seen_is_found(scene: Scene) -> None:
    with pytest.raises(NoBox, match="a hidden file can be read"):
        scene.prove(replace(scene.box, mounts=WHOLE_MACHINE))


def test_a_secret_that_can_be_read_is_found(scene: Scene, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("t")
    proof = replace(PROOF, secrets=(secret,))
    scene.prove(proof=proof)
    with pytest.raises(NoBox, match=f"a hidden file can be read: {secret}"):
        scene.prove(scene.with_mounts("--ro-bind", str(secret), str(secret)), proof)


def test_an_empty_secret_that_can_be_written_is_found(scene: Scene, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.touch()
    box = scene.with_mounts("--bind", str(secret), str(secret))
    with pytest.raises(NoBox, match="a hidden file can be written"):
        scene.prove(box, replace(PROOF, secrets=(secret,)))


def test_a_system_that_can_be_written_is_found(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    with pytest.raises(NoBox, match="/etc can be written"):
        scene.prove(scene.with_mounts("--bind", str(tmp_path / "etc"), "/etc"))


def test_a_folder_beside_its_own_that_can_be_written_is_no_box_at_all(scene: Scene) -> None:
    parent = str(scene.command.cwd.parent)
    box = replace(scene.box, mounts=(*scene.box.mounts, "--bind", parent, parent))
    secret = scene.command.cwd.parent / "canary"
    secret.write_text("t")
    with pytest.raises(NoBox, match="a hidden file can be"):
        scene.prove(box, replace(PROOF, secrets=(secret,)))


@pytest.mark.parametrize(
    ("options", "name"),
    [(("--setenv", "NEW", "1"), "NEW"), (("--setenv", "WORDS", "two"), "WORDS"),
     (("--unsetenv", "HOME"), "HOME")],
)  # fmt: skip
def test_another_environment_is_found(scene: Scene, options: tuple[str, ...], name: str) -> None:
    with pytest.raises(NoBox, match=f"the variable {name} is not as it should be"):
        scene.prove(replace(scene.box, bwrap=_shim(scene, *options)))


def test_capabilities_that_are_kept_are_found(scene: Scene) -> None:
    with pytest.raises(NoBox, match="it has capabilities"):
        scene.prove(replace(scene.box, bwrap=_shim(scene, "--cap-add", "CAP_NET_ADMIN")))


def test_user_namespaces_are_found(scene: Scene) -> None:
    assert scene.box.hardening is not None
    open_ = replace(scene.box.hardening, filter=b"", old=True)
    with pytest.raises(NoBox, match="user namespaces can be made"):
        scene.prove(replace(scene.box, hardening=open_))


def test_a_program_that_is_not_there_is_found(scene: Scene) -> None:
    with pytest.raises(NoBox, match="the program nonesuch is not there: see COLONY_SANDBOX_RO"):
        scene.prove(proof=Proof("nonesuch"))


def test_a_folder_that_cannot_be_written_is_found(scene: Scene) -> None:
    folder = str(scene.command.cwd)
    box = scene.with_mounts("--ro-bind", folder, folder)
    with pytest.raises(NoBox, match="the user cannot write in"):
        scene.prove(box)
    scene.prove(box, replace(PROOF, writes=False))


def test_a_bubblewrap_that_does_nothing_is_refused(scene: Scene, tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    program.chmod(0o755)
    with pytest.raises(NoBox):
        scene.prove(replace(scene.box, bwrap=str(program)))


def _shim(scene: Scene, *more: str) -> str:
    """A bubblewrap that gets more options than it was given, after those."""
    program = scene.command.cwd.parent / "shim"
    program.write_text(
        f'#!/bin/sh\na=$1 b=$2\nshift 2\nexec {scene.box.bwrap} "$a" "$b" {" ".join(more)} "$@"\n'
    )
    program.chmod(0o755)
    return str(program)
