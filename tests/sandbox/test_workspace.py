"""The directory that is emptied: all of it, nothing else."""

import os
from pathlib import Path

import pytest

from murphy_jax.sandbox.harness.workspace import Workspace, empty


def test_an_untouched_directory_is_used_again(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, None)
    before = workspace.path.stat()

    workspace.clean()

    assert os.path.samestat(before, workspace.path.stat())


@pytest.mark.parametrize("change", ["file", "folder", "mode", "gone", "link"])
def test_a_changed_directory_is_as_new_afterwards(tmp_path: Path, change: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    workspace = Workspace(tmp_path, None)
    match change:
        case "file":
            (workspace.path / "file").touch()
        case "folder":
            (workspace.path / "a" / "b").mkdir(parents=True)
        case "mode":
            workspace.path.chmod(0o777)
        case "gone":
            workspace.path.rmdir()
        case _:
            workspace.path.rmdir()
            workspace.path.symlink_to(outside)

    workspace.clean()

    assert list(workspace.path.iterdir()) == []
    assert workspace.path.lstat().st_mode & 0o7777 == 0o700
    assert (outside / "kept").exists()
    workspace.close()
    assert {path.name for path in tmp_path.iterdir()} == {"outside"}


def test_emptying_follows_no_link_and_leaves_what_is_outside(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir(mode=0o750)
    (outside / "kept").touch(mode=0o640)
    (folder / "deep").mkdir(parents=True)
    (folder / "link").symlink_to(outside)
    (folder / "deep" / "link").symlink_to(outside / "kept")
    (folder / "deep" / "twin").hardlink_to(outside / "kept")

    empty(folder)

    assert list(folder.iterdir()) == []
    assert outside.stat().st_mode & 0o777 == 0o750
    assert (outside / "kept").stat().st_mode & 0o777 == 0o640


def test_depth_width_and_permissions_do_not_matter(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    for number in range(200):
        (tmp_path / "wide" / str(number)).mkdir(parents=True)
    (tmp_path / "wide" / "7").chmod(0)
    (tmp_path / "wide").chmod(0)

    empty(tmp_path)

    assert list(tmp_path.iterdir()) == []
