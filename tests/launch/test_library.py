"""The library of programs is compiled with what the environment says."""

from pathlib import Path

import pytest

from hcasim.launch.library import library


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
    assert library().parent.parent == tmp_path
    assert told.read_text() == "-m64\n"
