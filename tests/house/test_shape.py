"""The rules of the house that no off-the-shelf linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "colony"
MODULES = sorted(PACKAGE.rglob("*.py"))

BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
FUNCTION_LINES = 60
MODULE_LINES = 450
PURE = {
    "__future__", "abc", "bisect", "calendar", "collections", "contextlib", "dataclasses",
    "datetime", "difflib", "enum", "functools", "hashlib", "heapq", "ipaddress", "itertools",
    "json", "math", "operator", "re", "string", "textwrap", "tomllib", "types", "typing",
    "unicodedata", "zoneinfo",
}  # fmt: skip


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_each_module_says_its_one_concept_in_its_first_line(path: Path) -> None:
    text = ast.get_docstring(parse(path))
    assert text, f"{name_of(path)} has no docstring"
    assert len(text.splitlines()[0]) <= 100


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_sizes_stay_readable(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES
    too_long = [
        f"{node.name} ({node.end_lineno - node.lineno + 1})"
        for node in functions(parse(path))
        if node.end_lineno is not None and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert not too_long


def test_no_name_that_means_nothing() -> None:
    assert not [name_of(path) for path in MODULES if path.stem in BANNED_NAMES]


def test_a_prefix_shared_by_four_files_is_a_folder() -> None:
    families: dict[tuple[Path, str], list[str]] = defaultdict(list)
    for path in MODULES:
        if "_" in path.stem.strip("_"):
            families[path.parent, path.stem.split("_")[0]].append(path.stem)
    assert not {str(key): names for key, names in families.items() if len(names) >= 4}


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").rglob("*.py")), ids=name_of)
def test_core_imports_pure_things_only(path: Path) -> None:
    for node in ast.walk(parse(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            top = name.split(".")[0]
            if top == "colony":
                assert name.startswith(("colony.core", "colony.errors")), name
            elif top == "jsonschema":
                assert name_of(path) == "colony/core/schema.py"
            else:
                assert top in PURE, f"{name_of(path)} imports {name}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").rglob("*.py")), ids=name_of)
def test_core_asks_no_clock_and_opens_nothing(path: Path) -> None:
    calls = {ast.unparse(node.func) for node in ast.walk(parse(path)) if isinstance(node, ast.Call)}
    bad = {
        "open",
        "print",
        "input",
        "datetime.now",
        "datetime.utcnow",
        "date.today",
        "exec",
        "eval",
    }
    assert not {call for call in calls if call in bad or call.endswith((".now", ".today"))}


@pytest.mark.parametrize(
    "path", [p for p in MODULES if "cli" not in p.relative_to(PACKAGE).parts], ids=name_of
)
def test_imports_stand_at_the_top(path: Path) -> None:
    tree = parse(path)
    inner = [
        ast.unparse(node)
        for function in functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not inner


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_hides_behind_type_checking(path: Path) -> None:
    assert "TYPE_CHECKING" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_wiring_and_config_see_the_whole_settings(path: Path) -> None:
    if name_of(path).startswith("colony/config/") or {"cli", "wiring"} & set(path.parts):
        return
    for function in functions(parse(path)):
        for argument in (*function.args.args, *function.args.kwonlyargs):
            if argument.annotation is not None:
                assert ast.unparse(argument.annotation) != "Settings", function.name


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_product_code_does_not_know_that_it_is_under_test(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"_for_tests?\b|PYTEST_|\bpytest\b(?!.*checkout)", text) or (
        (path.parent.name == "cli" and path.stem in ("checkout", "test"))
        # Guesses how other projects run their tests.
        or path.parent.name == "guess"
    )


def test_no_two_test_modules_share_a_name() -> None:
    """They are imported by their bare names: pytest would collect only one of the two."""
    names = [path.stem for path in (ROOT / "tests").rglob("*.py") if path.stem != "conftest"]
    assert sorted(names) == sorted(set(names))


def test_the_layers_hold() -> None:
    """import-linter's contracts of pyproject.toml: layers, purity, no cycles."""
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("tool", [["ruff", "check", "."], ["ruff", "format", "--check", "."]])
def test_lint_and_format(tool: list[str]) -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / tool[0]), *tool[1:], "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_types() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "mypy")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_speaks_of_machines_or_registries() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    host = re.compile(r"(pypi\.org|pythonhosted\.org|registry\.npmjs\.org|deb\.debian\.org)")
    bad = []
    for name in listed:
        path = ROOT / name
        if name and path.is_file() and name != "tests/house/test_shape.py":
            text = path.read_bytes().decode("utf-8", "replace")
            if host.search(text) or "/work/main" in text or "/work/shared" in text:
                bad.append(name)
    assert not bad
