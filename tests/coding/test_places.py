"""What a box has to show so that a program can be started: its file, package and interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from colony.coding.places import program_places


def program(path: Path, first: str = "#!/bin/sh") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bin_(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def places(bin_: Path, name: str = "agent") -> tuple[Path, ...]:
    return program_places(name, {"PATH": str(bin_)})


def test_a_program_is_shown_with_its_interpreter(bin_: Path) -> None:
    made = program(bin_ / "agent", f"#!{program(bin_ / 'runs')} --quick")
    assert places(bin_) == (made, bin_ / "runs")
    assert program_places(str(made), {}) == (made, bin_ / "runs"), "by its whole name, too"


def test_a_link_is_shown_and_what_it_leads_to(bin_: Path, tmp_path: Path) -> None:
    real = program(tmp_path / "versions" / "2" / "agent", "no interpreter")
    (tmp_path / "current").symlink_to(real)
    (bin_ / "agent").symlink_to(tmp_path / "current")
    assert places(bin_) == (bin_ / "agent", real)


def test_a_package_is_shown_with_those_beside_it(bin_: Path, tmp_path: Path) -> None:
    modules = tmp_path / "lib" / "node_modules"
    real = program(modules / "agent" / "node_modules" / "core" / "cli.js", "no interpreter")
    (bin_ / "agent").symlink_to(real)
    assert places(bin_) == (bin_ / "agent", real, modules), "the outermost such folder"


@pytest.mark.parametrize("first", ["#!/usr/bin/env node", "#! /usr/bin/env -S node --quick"])
def test_an_interpreter_is_looked_for_where_env_would(
    bin_: Path, tmp_path: Path, first: str
) -> None:
    node = program(tmp_path / "node-20" / "node", "no interpreter")
    (bin_ / "node").symlink_to(node)
    made = program(bin_ / "agent", first)
    assert places(bin_) == (made, bin_ / "node", node)


def test_an_interpreter_that_is_not_there_is_not_shown(bin_: Path) -> None:
    made = program(bin_ / "agent", "#!/usr/bin/env no-such-interpreter")
    assert places(bin_) == (made,)
    assert places(bin_, "agent") == (program(bin_ / "agent", "#!/usr/bin/env"),)


def test_a_program_that_is_not_there_has_no_places(bin_: Path) -> None:
    assert places(bin_, "no-such-program") == ()
    (bin_ / "agent").write_text("it cannot be run")
    assert places(bin_) == ()
