"""What is mounted where, and in which order: a list that says what is seen, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colony.core.mounts import Covered, Mount, View, closed, mounts_of, options_of
from colony.errors import Refused

EMPTY = "/runs/s/empty"
PLAIN = View(
    system=(Mount("read", "/usr", "/usr"), Mount("link", "/bin", "usr/bin")),
    read=(),
    own=(Mount("write", "/home/anna", "/runs/s/home"),),
    write=("/work/shop",),
    fixed=(),
    covered=(),
    links=(),
    empty_file=EMPTY,
)


def seen(view: View) -> dict[str, str]:
    """By place: what is there, in the order of the mounts."""
    return {each.at: each.kind for each in mounts_of(view)}


def test_nothing_is_seen_that_is_not_named() -> None:
    assert seen(PLAIN) == {
        "/bin": "link", "/usr": "read", "/home/anna": "write", "/work/shop": "write",
    }  # fmt: skip


def test_what_lies_in_another_place_is_mounted_after_it() -> None:
    view = replace(PLAIN, read=("/work/shop/deep/er", "/work"), fixed=("/work/shop/.git/hooks",))
    order = list(seen(view))
    assert order.index("/work") < order.index("/work/shop") < order.index("/work/shop/.git/hooks")


def test_a_protected_place_is_read_only_in_what_can_be_written() -> None:
    view = replace(PLAIN, fixed=("/work/shop/.git/hooks",))
    assert Mount("read", "/work/shop/.git/hooks", "/work/shop/.git/hooks") in mounts_of(view)


def test_a_secret_is_covered_where_it_would_be_seen() -> None:
    secrets = (Covered("/work/shop/.env", folder=False), Covered("/usr/share/keys", folder=True))
    found = mounts_of(replace(PLAIN, covered=secrets))
    assert Mount("cover file", "/work/shop/.env", EMPTY) in found
    assert Mount("cover folder", "/usr/share/keys") in found


def test_a_secret_that_is_not_seen_anyway_is_not_told_of() -> None:
    assert mounts_of(replace(PLAIN, covered=(Covered("/srv/colony", True),))) == mounts_of(PLAIN)


def test_a_folder_in_a_covered_one_is_seen_and_what_is_beside_it_is_not() -> None:
    """Colony's home holds the project and lies in a place that is shown."""
    view = replace(
        PLAIN,
        read=("/opt",),
        write=("/opt/colony/work/shop",),
        covered=(Covered("/opt/colony", True), Covered("/opt/colony/colony.db", False)),
    )
    found = seen(view)
    assert found["/opt/colony"] == "cover folder"
    assert found["/opt/colony/work/shop"] == "write"
    assert "/opt/colony/colony.db" not in found
    order = list(found)
    assert order.index("/opt/colony") < order.index("/opt/colony/work/shop")


def test_a_secret_in_the_dev_folder_is_covered_though_the_folder_can_be_written() -> None:
    view = replace(PLAIN, covered=(Covered("/work/shop/home", True),))
    assert seen(view)["/work/shop/home"] == "cover folder"


def test_a_cover_wins_over_what_somebody_lets_agents_read() -> None:
    view = replace(PLAIN, read=("/srv/token",), covered=(Covered("/srv/token", False),))
    assert seen(view)["/srv/token"] == "cover file"


def test_what_must_be_hidden_cannot_be_where_agents_work() -> None:
    with pytest.raises(Refused, match="/work/shop must stay hidden"):
        mounts_of(replace(PLAIN, covered=(Covered("/work/shop", True),)))


def test_a_link_is_made_only_where_nothing_shows_it() -> None:
    links = (Mount("link", "/home", "/data/home"), Mount("link", "/usr/lib/x", "/usr/lib/y"))
    found = seen(replace(PLAIN, own=(), links=links))
    assert found["/home"] == "link"
    assert "/usr/lib/x" not in found


def test_the_options_say_each_kind_and_close_the_covers_last() -> None:
    mounts = (
        Mount("read", "/usr", "/usr"),
        Mount("write", "/work", "/w"),
        Mount("link", "/bin", "usr/bin"),
        Mount("empty", "/run"),
        Mount("dev", "/dev"),
        Mount("proc", "/proc"),
        Mount("cover folder", "/usr/keys"),
        Mount("cover file", "/etc/shadow", EMPTY),
    )
    assert options_of(mounts) == (
        "--ro-bind", "/usr", "/usr", "--bind", "/w", "/work", "--symlink", "usr/bin", "/bin",
        "--tmpfs", "/run", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/usr/keys",
        "--ro-bind", EMPTY, "/etc/shadow",
    )  # fmt: skip
    assert closed(mounts) == ("--remount-ro", "/usr/keys", "--remount-ro", "/")
