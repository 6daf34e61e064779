"""Only regular files and standard input are read, up to a limit, and TOML reads back as written."""

import io
import os
import socket
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.calibrate.file.reading import read_calibration
from hcasim.catalog import load
from hcasim.ground import reading
from hcasim.ground.errors import CatalogError
from hcasim.ground.reading import check_tree, read_file, read_stdin, read_toml, render_toml
from hcasim.traces import read_trace

READERS: list[Callable[[Path], object]] = [read_file, read_toml, read_trace, read_calibration]
READERS.append(lambda file: load(str(file), "adapters"))


def fault(read: Callable[[Path], object], file: Path) -> str:
    with pytest.raises(CatalogError) as caught:
        read(file)
    (found,) = caught.value.faults
    return found


@pytest.mark.parametrize("read", READERS)
def test_a_pipe_is_not_waited_for(read: Callable[[Path], object], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    assert fault(read, pipe) == f"{pipe}: found a pipe; allowed: a regular file"


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", ["/dev/zero", "/dev/full"])
def test_a_device_without_end_is_not_read(read: Callable[[Path], object], name: str) -> None:
    if not Path(name).exists():
        pytest.skip(f"this system has no {name}")
    assert fault(read, Path(name)) == f"{name}: found a device; allowed: a regular file"


@pytest.mark.parametrize("read", READERS)
def test_a_file_has_a_largest_size(read: Callable[[Path], object], tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    with large.open("wb") as stream:
        stream.truncate(10**12)
    assert "; allowed: up to " in fault(read, large)
    small = tmp_path / "small"
    small.write_bytes(b"x" * 100)
    assert read_file(small, 100) == b"x" * 100
    assert "found more than 0 MiB" in fault(lambda one: read_file(one, 99), small)


def test_folders_and_sockets_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "found a folder" in fault(read_file, tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)
        server.bind("socket")
        assert fault(read_file, Path("socket")) == "socket: found a socket; allowed: a regular file"


def test_a_file_that_turns_into_a_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    regular = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda *_, **__: regular)
    assert "found a pipe" in fault(read_file, pipe)


def test_standard_input_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MIB", 10)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"x" * 40)))
    with pytest.raises(CatalogError, match="<stdin>: found more than 3 MiB"):
        read_stdin(30)


def test_a_name_that_no_file_can_have_is_said() -> None:
    assert fault(lambda _: read_file("a\0b"), Path()) == "'a\\x00b': cannot be the name of a file"


@pytest.mark.parametrize("inner", [{}, [], [0]])
def test_sixteen_levels_are_enough(inner: object) -> None:
    tree = inner
    for level in range(14):
        tree = {"a": tree} if level % 2 else [tree]
    check_tree({"a": tree})
    check_tree([1, True, -(2**63), 2**63 - 1, 1e300, None, "x"])
    for number in (2**63, -(2**63) - 1):
        with pytest.raises(ValueError, match="more than 64 bits"):
            check_tree({"a": [1, number]})
    for _ in range(100_000):
        tree = [tree]
    with pytest.raises(ValueError, match="more than 16 deep"):
        check_tree(tree)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_no_description_has_a_name_that_no_file_can_have(name: str) -> None:
    with pytest.raises(CatalogError, match="found no adapter"):
        load(name, "adapters")
    assert fault(lambda _: load(f"./{name}.toml", "adapters"), Path())


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=9)
leaves = words | st.integers(-(2**63), 2**63 - 1) | st.booleans()
lists = st.lists(leaves, max_size=4)
tables = st.dictionaries(words, leaves | lists | st.lists(st.dictionaries(words, lists)))


@given(st.dictionaries(words, tables | leaves | lists | st.lists(lists)), st.lists(words))
def test_what_is_written_reads_back_the_same(table: dict[str, Any], header: list[str]) -> None:
    assert tomllib.loads(render_toml(table, header)) == table


def test_a_list_of_numbers_or_words_is_one_line() -> None:
    table = {"a": [1, 2], "b": ["x,", "y\u2028z"], "c": [], "d": {"e": [0.5]}}
    lines = ["a = [1, 2]", 'b = ["x,", "y\u2028z"]', "c = []", "", "[d]", "e = [0.5]", ""]
    assert render_toml(table) == "\n".join(lines)


TOO_DEEP = "found tables and lists more than 16 deep in each other"
TOO_LARGE = "found a whole number of more than 64 bits"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a." * 300_000 + "a = 1", "found a key of more than 64 parts"),
        ("a." * 40 + "a = 1", TOO_DEEP),
        ("a = " + "[" * 5000 + "]" * 5000, TOO_DEEP),
        ("a = 0x" + "f" * 5000, TOO_LARGE),
    ],
)
def test_what_takes_long_or_is_too_deep_or_large_is_refused_at_once(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "file.toml"
    file.write_text(f"{text}\n")
    assert fault(read_toml, file).startswith(f"{file}: not valid TOML: {said}")


def test_prose_with_points_and_keys_with_parts_are_read(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text(f'a.b."c.d".e = "{"Word. And another. " * 50}{"1.2" * 60}"\n')
    assert set(read_toml(file)["a"]["b"]["c.d"]) == {"e"}
