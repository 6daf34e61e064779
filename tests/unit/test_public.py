"""What a notebook gets from `import hcasim as hc`."""

import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import hcasim as hc


@pytest.mark.parametrize("name", hc.__all__)
def test_each_name_is_there_is_listed_and_has_a_line_of_its_own(name: str) -> None:
    assert getattr(hc, name).__doc__
    assert name in dir(hc)
    assert f"    hc.{name}" in (hc.__doc__ or "")


def test_help_tells_of_each_name() -> None:
    shown = pydoc.plain(pydoc.render_doc(hc))
    assert all(name in shown for name in hc.__all__)
    assert "machine = resolve(" in shown


def test_what_is_not_there_is_said_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'hcasim' has no attribute 'benhc'"):
        _ = hc.benhc


def test_the_package_imports_nothing_until_it_is_asked(root: Path) -> None:
    code = "import sys, hcasim; print(*(one for one in sys.modules if 'hcasim.' in one))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
