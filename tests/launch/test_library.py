"""The library and the commands of programs are the user's own, wherever they are kept."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from hcasim.launch.library import commands, library

COMPILER = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho built > "$2"\n'


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A cache that cannot be used, and the folder of temporary files in its place."""
    compiler, cache, temporary = (tmp_path / one for one in ("cc", "cache", "temporary"))
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    cache.write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return cache, temporary


def planted(kept: Path) -> None:
    """Write a program of somebody else's under a name that is kept."""
    kept.unlink(missing_ok=True)
    kept.write_text("planted")
    kept.chmod(0o755)


def test_a_folder_of_temporary_files_serves_without_a_cache(places: tuple[Path, Path]) -> None:
    kept = library()
    assert kept.parent == places[1] / f"hcasim-{os.geteuid()}" == commands().parent
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert library() == kept


@pytest.mark.parametrize("how", ["link", "mode", "owner", "open", "group", "parent", "sticky"])
def test_a_folder_of_others_is_not_used(
    places: tuple[Path, Path], tmp_path: Path, how: str
) -> None:
    name = library().name
    folder = places[1] / f"hcasim-{os.geteuid()}"
    planted(folder / name)
    if how == "link":
        folder.symlink_to(folder.rename(tmp_path / "other"))
    elif how == "mode":
        folder.chmod(0o770)
    elif how == "owner":
        if os.geteuid():
            pytest.skip("only root can give a folder away")
        os.chown(folder, 65534, 65534)
    elif how == "open":
        places[1].chmod(0o777)
    else:
        if os.geteuid():
            pytest.skip("only root can give a folder away")
        os.chown(places[1], 0 if how == "group" else 65534, 65534)
        places[1].chmod({"group": 0o775, "parent": 0o755, "sticky": 0o1777}[how])
    for made in (library(), commands() / "ssh"):
        assert folder not in made.parents
        assert made.resolve() == made
        assert "planted" not in made.read_text()


@pytest.mark.parametrize("how", ["link", "mode", "owner"])
def test_a_file_of_others_is_replaced(tmp_path: Path, how: str) -> None:
    for kept in (library(), commands() / "ssh"):
        planted(kept)
        if how == "link":
            kept.symlink_to(kept.rename(tmp_path / kept.name))
        elif how == "mode":
            kept.chmod(0o722)
        elif os.geteuid():
            pytest.skip("only root can give a file away")
        else:
            os.chown(kept, 65534, 65534)
    for made in (library(), commands() / "ssh"):
        assert "planted" not in made.read_text()
        assert not made.is_symlink()


@pytest.mark.parametrize("name", ["with blank", "with:colon", "with$LIB"])
def test_paths_can_stand_in_lists(
    places: tuple[Path, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(places[1] / name))
    assert library().parent == commands().parent == places[1] / f"hcasim-{os.geteuid()}"


def test_the_compiler_may_be_named_with_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, told = tmp_path / "compiler", tmp_path / "told"
    compiler.write_text(
        f'#!/bin/sh\necho "$1" > {told}\nwhile [ "$1" != -o ]; do shift; done\n: > "$2"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", f"{compiler} -m64")
    library()
    assert told.read_text() == "-m64\n"
