"""A file that a command reads is none that it writes."""

import os
from pathlib import Path

import pytest

from hcasim.ground.errors import CatalogError
from hcasim.ground.opened import note_read, one_command, output_fault
from hcasim.ground.reading import read_file, read_toml, size_of
from hcasim.ground.writing import write_atomically


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a link of each kind."""
    file = tmp_path / "file"
    file.write_text("a = 1")
    os.link(file, tmp_path / "hard")
    (tmp_path / "soft").symlink_to("file")
    return file


@pytest.mark.parametrize("read", [read_file, read_toml, size_of, note_read])
def test_whichever_comes_second_is_refused(file: Path, read: object) -> None:
    assert callable(read)
    read(file)
    for name in ("file", "hard", "soft"):
        other = file.with_name(name)
        with one_command():
            assert output_fault(other, "-o x") == ""
            with pytest.raises(CatalogError, match=r"-o x: found the same file as .*, which is"):
                read(file)
        with one_command():
            read(other)
            assert output_fault(file, "-o x").startswith("-o x: found the same file as ")
            with pytest.raises(CatalogError, match=f"same file as .*{name}, which is read"):
                write_atomically(file, "")
    write_atomically(file, "outside of commands")


def test_a_file_that_took_the_place_of_one_that_was_read_counts_as_that(file: Path) -> None:
    with one_command():
        read_file(file)
        write_atomically(file.with_name("new"), "edited")
        file.with_name("new").replace(file)
        assert output_fault(file, "-o x")
    assert file.read_text() == "edited"


def test_no_two_options_write_one_file(file: Path) -> None:
    with one_command():
        assert output_fault(file.with_name("none"), "-o none") == ""
        assert output_fault(Path(f"{file.parent}/./none"), "--trace none").startswith(
            "--trace none: found the same file as -o none; allowed: "
        )
