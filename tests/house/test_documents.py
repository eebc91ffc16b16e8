"""What the documents say of settings, lines and versions is what the program does.

`docs/settings.md` is made anew with `PYTHONPATH=. python tests/house/test_documents.py`.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import typer

import colony
from colony.cli.app import NAMES
from colony.coding.claude import OLDEST
from colony.core.settings import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "settings.md"
HEAD = (
    "# Settings\n\n"
    "Each has a variable and a default, and those that change from call to call have an option."
    " The option wins, then the variable, then the line in `.env` of the home, then the default."
    " `--help` of a command shows which options it takes. A value that cannot be used is refused by"
    " name, but for those of the guard (`COLONY_GUARD` to `COLONY_MEMORY_LIMIT_MB`), which give way"
    " to their defaults with a `WARNING`; an unknown `COLONY_` name is refused in `.env`"
    " and warned about in the environment."
    " Times are seconds.\n\n"
    "| option | variable | default | |\n|---|---|---|---|\n"
)


def options() -> set[str]:
    """The settings that some command takes as an option."""
    found: set[str] = set()
    for name in NAMES:
        command = typer.main.get_command(importlib.import_module(f"colony.cli.{name}").app)
        commands = getattr(command, "commands", {name: command}).values()
        found |= {
            str(each.name)
            for one in commands
            for each in one.params
            if not getattr(each, "hidden", False)
        }
    return found


def settings() -> str:
    def cell(text: str | None) -> str:
        return f"`{text}`" if text else ""

    flags = options()
    rows = [
        f"| {cell(each.flag if each.name in flags else None)} | `{each.variable}` |"
        f" {cell(each.default)} | {each.help} |"
        for each in SETTINGS
    ]
    return HEAD + "\n".join(rows) + "\n"


def test_the_list_of_settings_is_complete() -> None:
    assert FILE.read_text(encoding="utf-8") == settings()


def test_the_readme_names_the_oldest_agent_that_works() -> None:
    version = ".".join(map(str, OLDEST))
    assert version in (ROOT / "README.md").read_text(encoding="utf-8")
    assert version in (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            if "url" not in target and "…" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_test_that_the_page_of_faults_names_is_there() -> None:
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[a-z_/0-9]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 50
    for file, test in named:
        assert (ROOT / file).exists(), file
        assert f"def {test + '(' if test else 'test_'}" in (ROOT / file).read_text(
            encoding="utf-8"
        ), test
    numbers = set(re.findall(r"^\| ([TF][0-9]+) \|", page, re.MULTILINE))
    assert numbers == {f"T{n}" for n in range(1, 23)} | {f"F{n}" for n in range(55, 81)}


def test_the_changelog_knows_this_version() -> None:
    assert f"## {colony.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_readme_fits_one_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60


if __name__ == "__main__":
    FILE.write_text(settings(), encoding="utf-8")
