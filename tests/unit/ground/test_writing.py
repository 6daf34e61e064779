"""Output files appear whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from hcasim.ground.errors import CatalogError
from hcasim.ground.writing import (
    make_folder,
    write_atomically,
    writing_fault,
    written_atomically,
)


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_atomically(tmp_path / "text", "µs\n")
    write_atomically(tmp_path / "bytes", b"\x00\xff")
    assert (tmp_path / "text").read_bytes() == "µs\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"


def test_the_file_may_be_read_by_those_whom_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("where", "step", "failure", "said"),
    [
        (os, "fsync", FULL, "file: cannot be written: no space left on device"),
        (Path, "replace", FULL, "file: cannot be written: no space left on device"),
        (os, "fsync", KeyboardInterrupt(), "^$"),
    ],
)
def test_a_full_disk_or_an_interruption_leaves_the_old_file_and_nothing_else(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: object,
    step: str,
    failure: BaseException,
    said: str,
) -> None:
    def fail(*arguments: object) -> None:
        raise failure

    file = tmp_path / "file"
    file.write_text("old")
    monkeypatch.setattr(where, step, fail)
    with pytest.raises((CatalogError, KeyboardInterrupt), match=said):
        write_atomically(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_file_keeps_its_mode_and_its_owner_and_nobody_else_reads_the_new_one(
    tmp_path: Path,
) -> None:
    file, modes = tmp_path / "file", (0o600, 0o664, 0o751)
    for mode in modes:
        file.write_text("old")
        file.chmod(mode)
        if os.geteuid() == 0:
            os.chown(file, 1, 2)
        before = file.stat()
        with written_atomically(file) as stream:
            (beside,) = tmp_path.glob(".*")
            assert stat.S_IMODE(beside.stat().st_mode) == mode
            stream.write(b"new")
        after = file.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (
            *(before.st_mode, before.st_uid, before.st_gid),
        )
        assert file.read_text() == "new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


LONG = 251 * "n" + ".csv"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("new", ""),
        ("old", ""),
        (LONG, ""),
        ("/dev/null", ""),
        (f"n{LONG}", "file name too long"),
        ("loop", "too many levels of symbolic links"),
        ("none/file", "there is no folder "),
        ("old/file", "there is no folder "),
        ("dangling", "there is no folder "),
        ("folder", "found a folder; the name of a file is needed"),
        ("nul\0", "embedded null byte"),
    ],
)
def test_what_cannot_be_written_is_said_before_and_in_the_same_words(
    tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("none/file")
    before = sorted(tmp_path.iterdir())
    file = tmp_path / name
    fault = writing_fault(file)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old").read_text() == "old"
    if not reason:
        assert fault == ""
        write_atomically(file, "new")
        return
    assert fault.startswith(f"{file}: cannot be written: {reason}")
    with pytest.raises(CatalogError) as caught:
        write_atomically(file, "new")
    assert caught.value.faults == [fault]
    assert sorted(tmp_path.iterdir()) == before


def test_an_output_folder_is_made_with_those_above_it_or_refused(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogError, match="file: cannot be created"):
        make_folder(tmp_path / "file")
    with pytest.raises(CatalogError, match="/proc/self: cannot be written into"):
        make_folder(Path("/proc/self"))
