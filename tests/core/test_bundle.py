"""The head of a bundle: one ref of the one name, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.bundle import Head, read_head

REF = "refs/heads/colony/shop-1"
ONE, TWO = "1" * 40, "2" * 40
SIGNED = "# v2 git bundle\n"
GOOD = f"{SIGNED}-{TWO} closed\n{ONE} {REF}\n\nPACK…"


def test_a_head_says_what_it_needs_and_brings() -> None:
    length = GOOD.index("PACK")
    assert read_head(GOOD.encode(), REF) == Head((TWO,), ONE, length)
    assert read_head(GOOD.encode()) == Head((TWO,), ONE, length)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no git bundle"),
        (GOOD.replace("v2", "v3"), "no git bundle"),
        (f"{SIGNED}{ONE} {REF}\n", "no end"),
        (f"{SIGNED}\nPACK", "cannot be read"),
        (f"{SIGNED}-{TWO}\n\n", "brings 0 refs"),
        (f"{SIGNED}{ONE} {REF}\n{TWO} refs/heads/main\n\n", "brings 2 refs"),
        (f"{SIGNED}{ONE} {REF}\n{ONE} {REF}\n\n", "brings 2 refs"),
        (f"{SIGNED}{ONE} refs/heads/main\n\n", "another ref"),
        (f"{SIGNED}{ONE} refs/heads/colony/../main\n\n", "another ref"),
        (f"{SIGNED}{ONE} {REF} \n\n", "another ref"),
        (f"{SIGNED}{ONE[1:]} {REF}\n\n", "cannot be read"),
        (f"{SIGNED}{ONE} {REF}\n-{TWO}\n\n", "cannot be read"),
        (f"{SIGNED}@filter=blob:none\n{ONE} {REF}\n\n", "cannot be read"),
    ],
)
def test_anything_else_is_said_to_be_none(text: str, why: str) -> None:
    found = read_head(text.encode(), REF)
    assert isinstance(found, str) and why in found


@given(st.binary(max_size=200))
def test_no_bytes_are_too_much_for_it(data: bytes) -> None:
    read_head(data, REF)
    read_head(SIGNED.encode() + data, REF)
