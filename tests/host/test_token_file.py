"""A token's file: refused by name, swapped while it is in use, never shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from colony.errors import Refused
from colony.host.token_file import NoToken, TokenFile

ONE, TWO = "tkt_" + "a" * 43, "tkt_" + "b" * 43


def made(path: Path) -> TokenFile:
    return TokenFile(path, "COLONY_TOKEN_FILE")


@pytest.mark.parametrize("text", [ONE, f"{ONE}\n", f"\n {ONE}\r\n"])
def test_the_token_is_the_files_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    assert made(path).secret() == ONE


BAD = {
    "": "is empty",
    " \n": "is empty",
    "secret": "holds no token (one line that begins with tkt_)",
    f"{ONE}\n{TWO}": "holds no token (one line that begins with tkt_)",
    "tkt_a b": "holds no token (one line that begins with tkt_)",
    "tkt_ä": "holds no token (one line that begins with tkt_)",
}


@pytest.mark.parametrize(("text", "why"), BAD.items())
def test_what_is_no_token_is_refused_by_the_name_of_its_file(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(Refused) as refusal:
        made(path)
    assert refusal.value.line == f"COLONY_TOKEN_FILE {path}: {why}"


def test_so_is_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        made(tmp_path / "missing")
    assert refusal.value.line == f"COLONY_TOKEN_FILE {tmp_path}/missing: does not exist"
    with pytest.raises(Refused, match=f"^COLONY_TOKEN_FILE {tmp_path}: is a folder, not a file"):
        made(tmp_path)
    big = tmp_path / "big"
    big.write_text("x" * 5000)
    with pytest.raises(Refused, match=r"^COLONY_TOKEN_FILE .*big: is larger than"):
        made(big)


def test_a_link_to_elsewhere_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(ONE)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert made(tmp_path / "link").secret() == ONE


def test_a_swapped_file_is_read_at_the_next_request(tmp_path: Path) -> None:
    path, new = tmp_path / "token", tmp_path / "new"
    path.write_text(ONE)
    token = made(path)
    new.write_text(TWO)
    new.replace(path)
    assert token.secret() == TWO


def test_a_token_that_is_no_good_is_looked_up_whatever_the_file_seems(tmp_path: Path) -> None:
    """Written in place within one tick of the file system's clock."""
    path = tmp_path / "token"
    path.write_text(ONE)
    seen = path.stat()
    token = made(path)
    path.write_text(TWO)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert token.secret() == ONE
    assert token.secret(again=True) == TWO


def test_while_the_file_is_being_written_the_token_stays(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(ONE)
    token = made(path)
    for text in ("", "tk"):
        path.write_text(text)
        assert token.secret(again=True) == ONE
    path.unlink()
    assert token.secret(again=True) == ONE
    path.write_text(TWO)
    assert token.secret() == TWO


def test_who_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(ONE)
    token = made(path)
    for mode, all_may in ((0o600, False), (0o640, False), (0o644, True), (0o604, True)):
        path.chmod(mode)
        assert token.open_to_all() is all_may


def test_no_token_says_which_setting_would_name_one() -> None:
    none = NoToken("COLONY_TOKEN_FILE")
    assert (none.secret(), none.name) == (None, "COLONY_TOKEN_FILE names no file")
