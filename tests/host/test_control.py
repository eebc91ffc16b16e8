"""Pauses and orders as files: what is written is read, what was not written by Colony is not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from colony.errors import ColonyError
from colony.host.control import Control
from colony.host.lock import lock_file
from colony.host.pauses import Pauses
from tests.host.conftest import names

SESSION = "s-20260131T1819-abc123"
OTHER = "s-20260131T1819-def456"


@pytest.fixture
def control(tmp_path: Path) -> Control:
    return Control(tmp_path)


def test_a_pause_holds_one_project_or_everything(control: Control, tmp_path: Path) -> None:
    assert control.pauses() == Pauses()
    assert not (tmp_path / "control").exists(), "a look makes nothing"
    control.pause("shop")
    control.pause("a.b-c")
    control.pause("shop")
    assert control.pauses() == Pauses(False, frozenset({"shop", "a.b-c"}))
    assert control.pauses().holds("shop")
    assert not control.pauses().holds("other")
    control.pause(None)
    assert control.pauses().holds("other")
    assert control.unpause(None)
    assert not control.unpause(None)
    assert control.unpause("shop")
    assert control.pauses() == Pauses(False, frozenset({"a.b-c"}))
    file = tmp_path / "control/pause.a.b-c"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_the_newest_order_holds_until_it_is_done(control: Control, tmp_path: Path) -> None:
    assert control.of(SESSION) is None
    control.order(SESSION, "park")
    control.order(OTHER, "stop")
    assert control.orders() == {SESSION: "park", OTHER: "stop"}
    control.order(SESSION, "stop")
    control.done(SESSION, "park")
    assert control.of(SESSION) == "stop", "an order that came meanwhile is not taken away"
    control.done(SESSION, "stop")
    control.done(SESSION, "stop")
    assert control.of(SESSION) is None
    assert control.orders() == {OTHER: "stop"}
    assert [name for name in names(tmp_path / "control") if name != ".lock"] == [f"order.{OTHER}"]


def test_an_order_neither_comes_nor_goes_while_it_is_held(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.order(SESSION, "stop")
    monkeypatch.setattr("colony.host.control._LOCK_WAIT_S", 0.05)
    with control.held():
        control.done(SESSION, "stop")
        assert control.of(SESSION) == "stop"
        with pytest.raises(ColonyError):
            control.order(SESSION, "park")
    assert control.of(SESSION) == "stop"


def beside(file: Path) -> Path:
    return file.with_name(f"of-{file.name}")


FORGED: dict[str, Callable[[Path, bytes], object]] = {
    "link": lambda file, word: (
        beside(file).write_bytes(word),
        file.symlink_to(beside(file)),
    ),
    "hard link": lambda file, word: (
        beside(file).write_bytes(word),
        file.hardlink_to(beside(file)),
    ),
    "folder": lambda file, _word: file.mkdir(),
    "fifo": lambda file, _word: os.mkfifo(file),
    "other words": lambda file, word: file.write_bytes(word.upper()),
    "no line": lambda file, word: file.write_bytes(word.strip()),
    "more words": lambda file, word: file.write_bytes(word * 2),
    "long": lambda file, word: file.write_bytes(word + b" " * 10_000),
    "bytes": lambda file, _word: file.write_bytes(b"\xff\x00"),
    "empty": lambda file, _word: file.touch(),
}


@pytest.mark.parametrize("kind", FORGED)
def test_what_colony_did_not_write_asks_for_nothing(
    kind: str, control: Control, tmp_path: Path
) -> None:
    folder = tmp_path / "control"
    folder.mkdir(0o700)
    forge = FORGED[kind]
    for name, word in (
        (f"order.{SESSION}", b"stop\n"), ("pause", b"pause\n"), ("pause.shop", b"pause\n"),
    ):  # fmt: skip
        forge(folder / name, word)
    assert control.of(SESSION) is None
    assert control.orders() == {}
    assert control.pauses() == Pauses()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of others")
def test_another_users_file_asks_for_nothing(control: Control, tmp_path: Path) -> None:
    control.pause(None)
    control.order(SESSION, "stop")
    for name in ("pause", f"order.{SESSION}"):
        os.chown(tmp_path / "control" / name, 65534, 65534)
    assert control.pauses() == Pauses()
    assert control.of(SESSION) is None


def test_strange_names_are_passed_over(control: Control, tmp_path: Path) -> None:
    control.pause("shop")
    folder = tmp_path / "control"
    for name in ("pause.", "pause.Shop", "pause.a b", "pauses", "pause.\x1b[31m", ".pause.1.tmp"):
        (folder / name).write_bytes(b"pause\n")
    for name in ("order.", "order.shop", "order.s-1", f"order.{SESSION}.old", f"order{SESSION}"):
        (folder / name).write_bytes(b"stop\n")
    assert control.pauses() == Pauses(False, frozenset({"shop"}))
    assert control.orders() == {}
    assert control.of("../control/pause") is None


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_folder_that_is_none_is_not_led_astray(
    kind: str, control: Control, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    Control(other.parent / "home2").pauses()
    other.mkdir(0o700)
    (other / "pause").write_bytes(b"pause\n")
    folder = tmp_path / "control"
    if kind == "link":
        folder.symlink_to(other)
    else:
        folder.write_text("")
    assert control.of(SESSION) is None
    with pytest.raises(ColonyError):
        control.pause(None)
    with pytest.raises(ColonyError):
        control.order(SESSION, "stop")
    assert names(other) == ["pause"]


def test_a_pause_that_finds_no_room_is_said(small_disk: Path) -> None:
    control = Control(small_disk)
    control.pause("shop")
    (small_disk / "big").write_bytes(b"x" * 56 * 1024)
    with pytest.raises(ColonyError):
        for number in range(100):
            control.pause(f"p{number}")
    assert control.pauses().holds("shop")


def test_the_lock_of_the_folder_is_a_file_that_stays(control: Control, tmp_path: Path) -> None:
    control.order(SESSION, "stop")
    with lock_file(tmp_path / "control" / ".lock", "control"):
        assert control.of(SESSION) == "stop"
