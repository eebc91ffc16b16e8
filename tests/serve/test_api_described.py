"""The API describes itself: the description is whole, its page is shipped, `docs/api.md` runs."""

from __future__ import annotations

import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from colony.errors import Busy, Damaged, Forbidden, Invalid, NoAnswer, NotFound, TooLarge
from colony.errors import Unreachable as Unreached
from tests.serve.conftest import Api

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


class Addresses(HTMLParser):
    """What a page loads or leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "action")]


def test_the_page_loads_nothing_from_elsewhere(api: Api) -> None:
    nobody = api.client(None)
    page = nobody.get("/docs")
    addresses = Addresses()
    addresses.feed(page.text)
    assert len(addresses.found) >= 3
    for address in addresses.found:
        assert address.startswith("/docs/assets/")
        assert nobody.get(address).status_code == 200
    assert "http" not in page.text.replace("/docs", "")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert nobody.get("/redoc").status_code == 404


def test_every_operation_is_described_with_its_errors(api: Api) -> None:
    described = api.client(None).get("/openapi.json").json()
    operations = [
        (method, path, told)
        for path, methods in described["paths"].items()
        for method, told in methods.items()
    ]
    assert len(operations) == 26
    for method, path, told in operations:
        assert told["description"], path
        answers = set(told["responses"])
        if path != "/api/health":
            assert {"401", "503"} <= answers, path
            assert told["security"] == [{"HTTPBearer": []}], path
        if method != "get":
            assert {"400", "403", "404", "413", "415", "422"} <= answers, path
            assert ("429" in answers) == (method != "put"), path
        for status, answer in told["responses"].items():
            assert answer["description"], (path, status)
            if status not in ("304", "200") or path != "/metrics":
                assert ("content" in answer) == (status != "304"), (path, status)


def test_the_description_refuses_what_the_server_refuses(api: Api) -> None:
    described = api.client(None).get("/openapi.json").json()
    for name, schema in described["components"]["schemas"].items():
        if name.endswith("Body"):
            assert schema["additionalProperties"] is False, name


def test_the_examples_of_the_document_run(api: Api) -> None:
    machine = {"TRACKER": api.url, "TOKEN": api.token("anna"), "PATH": "/usr/bin:/bin"}
    assert len(EXAMPLES) == 5
    said = ""
    for example in EXAMPLES:
        done = subprocess.run(
            ["/bin/sh", "-euc", example], env=machine, capture_output=True, text=True, check=True
        )
        assert done.stdout
        assert '"error"' not in done.stdout
        said += done.stdout
    assert "Show prices in euros and dollars" in said
    assert "Dollars too, please." in said


def test_the_document_names_every_code(api: Api, shop: httpx.Client) -> None:
    codes = set(re.findall(r"`([a-z_]+)`", PAGE.partition("## Errors")[2]))
    tree = {Busy, Damaged, Forbidden, Invalid, NoAnswer, NotFound, TooLarge, Unreached}
    assert {error.code for error in tree} <= codes
    source = "".join(file.read_text("utf-8") for file in (ROOT / "colony/serve").glob("*.py"))
    own = re.findall(r'(?:Refusal|answer)\(\s*\d{3}, "([a-z_]+)"', source)
    assert {"unauthorized", "too_many", "not_json", "too_large", "method", "bug"} <= set(own)
    assert set(own) <= codes


@pytest.mark.parametrize("path", ["/openapi.json", "/api/tickets"])
def test_answers_are_utf8_json(api: Api, shop: httpx.Client, path: str) -> None:
    shop.post("/api/tickets", json={"project": "shop", "subject": "grün — 🚀"})
    got = shop.get(path)
    assert got.headers["content-type"] == "application/json"
    assert json.loads(got.content.decode("utf-8"))
