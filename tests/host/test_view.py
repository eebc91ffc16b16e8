"""Looking at a machine for a box: what is shown, what is covered, and what cannot be built."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from colony.core.mounts import Mount
from colony.errors import Refused
from colony.host.protection import Guarded
from colony.host.view import Wanted, is_dotenv, mounts_for


@pytest.fixture
def wanted(tmp_path: Path) -> Wanted:
    shop, home, tmp = (tmp_path / name for name in ("shop", "own-home", "own-tmp"))
    for each in (shop, home, tmp):
        each.mkdir()
    empty = tmp_path / "empty"
    empty.touch()
    return Wanted(
        folder=shop,
        own=((home, Path("/home/anna")), (tmp, Path("/tmp"))),
        user_home=Path("/home/anna"),
        empty_file=empty,
    )


def kinds(wanted: Wanted) -> dict[str, str]:
    return {each.at: each.kind for each in mounts_for(wanted)}


def test_the_system_is_read_only_and_the_rest_is_the_boxs_own(wanted: Wanted) -> None:
    found = {each.at: each for each in mounts_for(wanted)}
    assert found["/usr"] == Mount("read", "/usr", "/usr")
    assert found["/etc"].kind == "read"
    assert {found[each].kind for each in ("/run", "/var")} == {"empty"}
    assert (found["/proc"].kind, found["/dev"].kind) == ("proc", "dev")
    assert found["/tmp"].source == str(wanted.folder.parent / "own-tmp")
    assert found["/home/anna"].source == str(wanted.folder.parent / "own-home")
    assert found[str(wanted.folder)].kind == "write"
    shown = {each.at for each in found.values() if each.kind == "write"}
    assert shown == {"/tmp", "/home/anna", str(wanted.folder)}


def test_what_only_its_owner_may_read_of_etc_is_covered(wanted: Wanted) -> None:
    if os.access("/etc/shadow", os.R_OK):
        assert kinds(wanted)["/etc/shadow"] == "cover file"
    assert "/etc/passwd" not in kinds(wanted)


@pytest.mark.parametrize(
    ("name", "covered"),
    [(".env", True), (".env.local", True), (".env-prod", True), (".envrc", True),
     (".env.example", False), (".env.local.example", False), ("env", False), (".en", False)],
)  # fmt: skip
def test_a_projects_variables_are_covered_and_its_examples_are_not(
    wanted: Wanted, name: str, covered: bool
) -> None:
    assert is_dotenv(name) is covered
    for place in (wanted.folder / name, wanted.folder / "apps" / "web" / name):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("KEY=1")
        assert (kinds(wanted).get(str(place)) == "cover file") is covered


def test_a_folder_called_so_is_looked_into_and_not_covered(wanted: Wanted) -> None:
    inside = wanted.folder / ".env.d" / ".env"
    inside.parent.mkdir()
    inside.write_text("KEY=1")
    found = kinds(wanted)
    assert found[str(inside)] == "cover file"
    assert str(inside.parent) not in found


def test_a_link_to_variables_covers_what_it_leads_to_in_the_folder(wanted: Wanted) -> None:
    target = wanted.folder / "config" / "production"
    target.parent.mkdir()
    target.write_text("KEY=1")
    (wanted.folder / ".env").symlink_to(target)
    assert kinds(wanted)[str(target)] == "cover file"


def test_variables_of_a_project_that_may_be_read_are_covered_too(
    wanted: Wanted, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".env").write_text("KEY=1")
    found = kinds(replace(wanted, read=(other,)))
    assert found[str(other)] == "read"
    assert found[str(other / ".env")] == "cover file"


def test_the_repository_is_a_mount_of_its_own_with_its_closed_places(wanted: Wanted) -> None:
    git = wanted.folder / ".git"
    (git / "hooks").mkdir(parents=True)
    (git / "config").touch()
    places = (".git/hooks", ".git/config", ".git/info/attributes")
    found = kinds(replace(wanted, guarded=(Guarded(wanted.folder, places),)))
    assert found[str(git)] == "write"
    assert found[str(git / "hooks")] == found[str(git / "config")] == "read"
    assert str(git / "info") not in found


def test_a_closed_place_that_leads_out_of_its_folder_is_not_followed(
    wanted: Wanted, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (wanted.folder / ".vscode").symlink_to(outside)
    found = kinds(replace(wanted, guarded=(Guarded(wanted.folder, (".vscode",)),)))
    assert str(outside) not in found


def test_a_place_is_seen_by_its_own_name_and_by_a_link_to_it(
    wanted: Wanted, tmp_path: Path
) -> None:
    real = tmp_path / "real"
    (real / "docs").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    found = {each.at: each for each in mounts_for(replace(wanted, read=(tmp_path / "link/docs",)))}
    assert found[str(real / "docs")].kind == "read"
    assert found[str(tmp_path / "link")] == Mount("link", str(tmp_path / "link"), str(real))


def test_a_secret_is_covered_where_links_lead(wanted: Wanted) -> None:
    secret = wanted.folder / "token"
    secret.write_text("t")
    (wanted.folder.parent / "named").symlink_to(secret)
    found = kinds(replace(wanted, secrets=(wanted.folder.parent / "named",)))
    assert found[str(secret)] == "cover file"


def test_what_this_user_cannot_reach_is_no_part_of_the_box(wanted: Wanted) -> None:
    """As a path that the kernel will not look up, or one in a folder that is closed to him."""
    away = Path("/" + "a" * 300) / "docs"
    closed = Guarded(wanted.folder, (away.parent.name,))
    more = replace(wanted, read=(away,), secrets=(away,), guarded=(closed,))
    assert mounts_for(more) == mounts_for(wanted)


def test_a_home_in_the_dev_folder_cannot_be_kept_apart(wanted: Wanted) -> None:
    home = wanted.folder / "anna"
    home.mkdir()
    for user_home in (home, wanted.folder):
        with pytest.raises(Refused, match="holds your home folder"):
            mounts_for(replace(wanted, user_home=user_home))
