"""Registry files: every key, its default, and what is refused with which words."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.project import KEYS, Key, Project, parse

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "templates/project.schema.json").read_text("utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SMALL: dict[str, Any] = {"name": "shop", "dev": {"folder": "/srv/shop"}}
FULL: dict[str, Any] = {
    "name": "shop",
    "concept": "docs/concept.md",
    "dev": {"folder": "/srv/shop", "host": "elm"},
    "code": "/srv/run/shop",
    "live": {"url": "https://shop.example/", "folder": "/var/www/shop"},
    "deploy": "make deploy\nthen look",
    "note": "",
    "dependsOn": ["lib", "base-2.x"],
    "workers": True,
    "ui": True,
    "needs": ["chrome", "gpu"],
    "agent": "stand-in",
    "model": "haiku",
    "permissionMode": "dontAsk",
    "maxTurns": 60,
    "timeout": 1800,
    "account": "main",
    "allowedTools": ["Bash(npm run test:*)", "Read"],
    "projectSettings": True,
    "env": {"SHOP_KEY": "file:/etc/shop/key"},
    "network": ["pkg.example", "10.0.0.1"],
    "userns": True,
    "writable": [".github"],
    "worktrees": True,
    "repo": "git@code.example:shop.git",
    "base": "main",
    "setup": ["npm ci"],
    "merge": "never",
    "result": "ticket",
}


def problems(**changed: Any) -> tuple[str, ...]:
    found = parse({**SMALL, **changed}, "shop")
    assert not isinstance(found, Project)
    return found


def test_a_small_file_has_every_default() -> None:
    assert parse(SMALL, "shop") == Project(name="shop", dev_folder="/srv/shop")


def test_every_key_fills_its_field() -> None:
    found = parse(FULL, "shop")
    assert isinstance(found, Project)
    assert set(FULL) == set(KEYS)
    default = Project(name="shop")
    same = {
        field.name
        for field in dataclasses.fields(Project)
        if getattr(found, field.name) == getattr(default, field.name)
    }
    # The rest differs from its default, so a key that filled the wrong field would show.
    assert same == {"name", "note", "workers", "result"}
    assert (found.live, found.merge, found.network) == (True, "never", ("pkg.example", "10.0.0.1"))


def test_merging_waits_for_the_creator_unless_the_project_is_live() -> None:
    live = parse({**SMALL, "live": {"url": "https://shop.example"}}, "shop")
    assert isinstance(live, Project)
    assert live.merge == "pass"


@pytest.mark.parametrize("extra", [{"repo": "https://code.example/shop.git"}, {"workers": False}])
def test_dev_may_be_absent_with_a_repo_or_without_workers(extra: dict[str, Any]) -> None:
    assert isinstance(parse({"name": "shop", **extra}, "shop"), Project)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"modle": "x"}, "unknown key 'modle' (did you mean model?)"),
    ({"dev": {"foldr": "/x"}}, "dev: unknown key 'foldr' (did you mean folder?)"),
    ({"dev": {}}, "dev.folder is missing"),
    ({"dev": "/srv"}, "dev: must be an object"),
    ({"live": {"url": "ftp://x"}}, "live.url: must be an http or https address"),
    ({"dependsOn": ["Lib"]}, "dependsOn: must be a name of small letters"),
    ({"dependsOn": ["a", "a"]}, "dependsOn: names something twice"),
    ({"dependsOn": "a"}, "dependsOn: must be a list"),
    ({"workers": "false"}, "workers: must be true or false"),
    ({"workers": 0}, "workers: must be true or false"),
    ({"maxTurns": True}, "maxTurns: must be a whole number from 1"),
    ({"maxTurns": 0}, "maxTurns: must be a whole number from 1"),
    ({"maxTurns": 1.5}, "maxTurns: must be a whole number from 1"),
    ({"timeout": 10**30}, "timeout: must be a whole number from 1"),
    ({"timeout": float("nan")}, "timeout: must be a whole number from 1"),
    ({"permissionMode": "bypassPermissions"}, "permissionMode: must be one of auto"),
    ({"agent": "cladue"}, "agent: must be one of claude, stand-in (did you mean claude?)"),
    ({"model": "--yolo"}, "model: must not begin with '-'"),
    ({"model": ""}, "model: must be one line"),
    ({"repo": "--upload-pack=x"}, "repo: must not begin with '-'"),
    ({"note": "half \ud800"}, "note: holds a character that is none"),
    ({"concept": "a\nb"}, "concept: must be one line"),
    ({"concept": None}, "concept: must be a text"),
    ({"env": {"A B": "file:x"}}, "env: 'A B' is no name"),
    ({"env": {"A": "secret"}}, 'env: A: must be "file:PATH"'),
    ({"env": {"COLONY_USER": "file:x"}}, "env: COLONY_USER: names that begin"),
    ({"network": "closed"}, "network: must be a list"),
    ({"network": ["a b"]}, "network: must be a host name"),
    ({"merge": "always"}, "merge: must be one of pass, done, never"),
    ({"needs": ["GPU"]}, "needs: must be a word of small letters"),
    ({"setup": [["npm", "ci"]]}, "setup: must be a text"),
]


@pytest.mark.parametrize(("changed", "told"), BAD, ids=[told for _, told in BAD])
def test_what_cannot_be_used_is_named(changed: dict[str, Any], told: str) -> None:
    assert problems(**changed)[0].startswith(told)


# JSON Schema has no words for half a character.
SAYABLE = [(changed, told) for changed, told in BAD if "character" not in told]


@pytest.mark.parametrize(("changed", "told"), SAYABLE, ids=[told for _, told in SAYABLE])
def test_the_schema_refuses_it_too(changed: dict[str, Any], told: str) -> None:
    assert not VALIDATOR.is_valid({**SMALL, **changed})


def test_every_problem_is_told() -> None:
    told = problems(name="Shop", modle=1, workers=1, dev={"x": 1})
    assert [line.split(":")[0].split(" '")[0] for line in told] == [
        "name", "dev", "dev.folder is missing", "unknown key", "workers",
    ]  # fmt: skip


@pytest.mark.parametrize("data", [None, [], "x", 3, True])
def test_a_file_must_hold_an_object(data: object) -> None:
    assert parse(data, "shop") == ("not a JSON object",)


def test_the_name_is_the_files_name() -> None:
    assert parse(SMALL, "shpo") == ("name: is 'shop', but the file is shpo.json",)


def test_a_project_that_takes_workers_needs_a_place_for_them() -> None:
    assert problems(dev=SMALL["dev"], name="shop", workers=True, ui=3)
    found = parse({"name": "shop"}, "shop")
    assert found == ("dev is missing (where workers work; not needed with repo)",)


def test_the_schema_knows_the_same_keys_and_says_what_they_mean() -> None:
    def compare(keys: dict[str, Key], schema: dict[str, Any]) -> None:
        assert set(schema["properties"]) == set(keys)
        assert schema["additionalProperties"] is False
        for name, key in keys.items():
            assert schema["properties"][name]["description"]
            if not callable(key.read):
                compare(dict(key.read), schema["properties"][name])

    compare(dict(KEYS), SCHEMA)
    VALIDATOR.check_schema(SCHEMA)
    VALIDATOR.validate(FULL)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(key=st.sampled_from([*KEYS, "other"]), value=JSON)
def test_any_value_is_read_or_refused_and_what_is_read_fits_the_schema(
    key: str, value: object
) -> None:
    data = {**FULL, key: value}
    found = parse(data, "shop")
    if isinstance(found, Project):
        assert VALIDATOR.is_valid(data)
    else:
        assert found
        assert all("\n" not in line for line in found)


@given(changed=st.dictionaries(st.sampled_from(list(KEYS)), JSON, max_size=4))
def test_what_the_schema_takes_is_read(changed: dict[str, object]) -> None:
    data = {**SMALL, **changed}
    if VALIDATOR.is_valid(data) and data["name"] == "shop":
        found = parse(data, "shop")
        # Only characters are judged more strictly than a schema can.
        if not isinstance(found, Project):
            assert all("one line" in line or "is none" in line for line in found)
