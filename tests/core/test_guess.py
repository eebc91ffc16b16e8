"""What a repository shows of itself."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.concept import QUESTIONS, TOLD, first_concept, unanswered
from colony.core.guess import guess_from, project_name
from colony.core.guess.purpose import first_paragraph
from colony.core.guess.reading import FILES, Guess, toml_of


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ({"package.json": '{"name": "@acme/Web Shop"}'}, "Web Shop"),
        ({"pyproject.toml": '[project]\nname = "shop"'}, "shop"),
        ({"pyproject.toml": '[tool.poetry]\nname = "shop"'}, "shop"),
        ({"Cargo.toml": '[package]\nname = "shop"'}, "shop"),
        ({"go.mod": "// x\nmodule example.org/anna/shop/v2\n\ngo 1.22\n"}, "shop"),
        ({"package.json": '{"name": "a"}', "Cargo.toml": '[package]\nname = "b"'}, "a"),
        ({"package.json": '{"name": 3}'}, ""),
        ({"package.json": "["}, ""),
        ({"package.json": '["name"]'}, ""),
        ({"package.json": "[" * 100_000}, ""),
        ({"pyproject.toml": "x = " + "[" * 60_000}, ""),
        ({"pyproject.toml": "a." * 400_000 + "b = 1"}, ""),
        ({"pyproject.toml": '[project]\nname = ["x"]'}, ""),
        ({"Cargo.toml": 'package = "x"'}, ""),
        ({"go.mod": "module v2"}, ""),
        ({}, ""),
    ],
)
def test_the_name(found: dict[str, str], name: str) -> None:
    assert guess_from(found).name == name


@pytest.mark.parametrize(
    ("text", "name"),
    [("Web Shop", "web-shop"), ("../x", "x"), ("ß", ""), ("A" * 80, "a" * 64), ("a_b.c", "a-b.c")],
)
def test_a_registry_name(text: str, name: str) -> None:
    assert project_name(text) == name


@pytest.mark.parametrize(
    ("readme", "text"),
    [
        ("# Shop\n\n[![ci](x)](y)\n\nSells tea\nand milk.\n\nMore.", "Sells tea and milk."),
        ("Shop\n====\n\nSells tea.", "Sells tea."),
        ("# Shop\nSells tea.", "Sells tea."),
        ("# Shop\r\n\r\nSells tea.\r\n", "Sells tea."),
        ("```\ncode\n\nmore code\n```\n\n<p>x</p>\n\n- a\n\n1. b\n\n> c\n\nTea.", "Tea."),
        ("Tea --> <!-- <!<!---- x", "Tea -- > < !-- < !< !---- x"),
        ("# Only a heading", ""),
        ("", ""),
    ],
)
def test_the_first_paragraph(readme: str, text: str) -> None:
    assert first_paragraph(readme) == text


def test_a_long_paragraph_is_cut() -> None:
    assert len(first_paragraph("tea " * 100_000)) <= 600


def test_a_description_where_no_readme_says_it() -> None:
    said = guess_from({"README.md": "# x", "package.json": '{"description": "Tea shop"}'}).purpose
    assert said is not None
    assert (said.text, said.source) == ("Tea shop", "package.json")


NPM = '{"scripts": {"test": "jest", "dev": "vite", "build": "vite build", "lint": "eslint"}}'


@pytest.mark.parametrize(
    ("found", "commands"),
    [
        (
            {"package.json": NPM},
            {
                "install": "npm install", "build": "npm run build", "start": "npm run dev",
                "test": "npm test", "lint": "npm run lint",
            },
        ),
        (
            {"package.json": NPM, "pnpm-lock.yaml": ""},
            {
                "install": "pnpm install", "build": "pnpm run build", "start": "pnpm run dev",
                "test": "pnpm test", "lint": "pnpm run lint",
            },
        ),
        (
            {"package.json": '{"scripts": {"start": "x"}}', "yarn.lock": ""},
            {"install": "yarn install", "start": "yarn start"},
        ),
        ({"package.json": '{"a": 1}', "package-lock.json": ""}, {"install": "npm ci"}),
        (
            {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\""}}'},
            {"install": "npm install"},
        ),
        ({"package.json": '{"scripts": {"test": 3}}'}, {"install": "npm install"}),
        (
            {"Makefile": ".PHONY: x\ntest: build\n\tx\nbuild:\n\ty\ninstall:\nA := 1\nrun := 2\n"},
            {"build": "make build", "test": "make test"},
        ),
        ({"justfile": "setup:\n x\n"}, {"install": "just setup"}),
        (
            {"Makefile": "test:\n", "package.json": NPM},
            {
                "install": "npm install", "build": "npm run build", "start": "npm run dev",
                "test": "make test", "lint": "npm run lint",
            },
        ),
        (
            {"pyproject.toml": '[project]\nname="x"\n[tool.pytest.ini_options]\n[tool.ruff]\n'},
            {
                "install": "python -m pip install -e .", "test": "python -m pytest",
                "lint": "ruff check .",
            },
        ),
        (
            {"pyproject.toml": '[dependency-groups]\ndev = ["pytest>=8", {}]', "uv.lock": ""},
            {"install": "uv sync", "test": "python -m pytest"},
        ),
        ({"tox.ini": "", "requirements.txt": "x"},
         {"install": "python -m pip install -r requirements.txt", "test": "tox"}),
        ({"pytest.ini": ""}, {"test": "python -m pytest"}),
        ({"setup.cfg": "[tool:pytest]"}, {"test": "python -m pytest"}),
        ({"Cargo.toml": ""}, {"build": "cargo build", "test": "cargo test"}),
        ({"go.mod": ""}, {"build": "go build ./...", "test": "go test ./..."}),
        ({}, {}),
    ],
)  # fmt: skip
def test_how_it_is_built_and_tested(found: dict[str, str], commands: dict[str, str]) -> None:
    assert {each.task: each.text for each in guess_from(found).commands} == commands


@pytest.mark.parametrize(
    ("found", "pages"),
    [
        ({"index.html": ""}, True),
        ({"package.json": '{"dependencies": {"react": "19"}}'}, True),
        ({"package.json": '{"devDependencies": {"svelte": "5"}}'}, True),
        ({"package.json": '{"dependencies": {"express": "5"}}'}, False),
        ({"package.json": '{"dependencies": ["react"]}'}, False),
    ],
)
def test_pages(found: dict[str, str], pages: bool) -> None:
    assert guess_from(found).pages == pages


@given(st.dictionaries(st.sampled_from(FILES), st.text(max_size=100), max_size=4))
def test_whatever_is_in_the_files(found: dict[str, str]) -> None:
    text = first_concept("shop", guess_from(found))
    assert text.isascii() or text.encode()
    assert text.count("## ") >= 5


@pytest.mark.parametrize("key", [".".join("a" * 8000), '"a" . ' * 8000 + "b"])
def test_a_key_of_many_parts_is_not_read(key: str) -> None:
    """The TOML reader takes quadratic time for them."""
    text = f'[package]\nname = "x"\n[other]\n{key} = 1\n'
    started = time.process_time()
    assert toml_of({"Cargo.toml": text}, "Cargo.toml") == {}
    assert time.process_time() - started < 0.5


def test_a_concept_says_what_was_guessed() -> None:
    found = {"README.md": "# x\n\nSells tea.", "Makefile": "test:\n"}
    text = first_concept("shop", guess_from(found))
    assert text.startswith("# shop: what it is meant to become\n")
    assert TOLD in text
    assert "<!-- guessed from README.md: check it -->\nSells tea.\n" in text
    assert "- test: `make test` <!-- guessed from Makefile: check it -->\n" in text


def test_a_concept_without_guesses_asks() -> None:
    text = first_concept("shop", Guess())
    assert "guessed" not in text
    assert text.count("\n## ") == 5


def test_a_concept_is_judged_by_its_sections() -> None:
    text = first_concept("shop", Guess())
    assert unanswered(text) == QUESTIONS
    assert unanswered(text.replace(TOLD, "")) == QUESTIONS
    answered = "".join(f"## {each}\n\nSo it is.\n\n" for each in QUESTIONS)
    assert unanswered(f"{TOLD}\n{answered}") == ()
    guessed = answered.replace("So it is.", "So? <!-- guessed from README.md: check it -->", 1)
    assert unanswered(guessed) == QUESTIONS[:1]
    assert unanswered("# A shop\n\nIt sells tea.\n\n## Empty\n") == ()
