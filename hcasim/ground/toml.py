"""Reading and writing TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from hcasim.ground.errors import CatalogError, display, nearest, one_of
from hcasim.ground.opening import tell_read
from hcasim.ground.printable import printable
from hcasim.ground.reading import DEEPEST, NoSuchFile, check_tree, read_file, tree_fault

_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*){{{4 * DEEPEST}}}")
_LIST = re.compile(r"= \[\n((?:    [^\s{\[].*\n)+)\]")


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file.

    Parameters:
        file: its path.

    Returns:
        Its contents, which the caller must not change.

    Raises:
        CatalogError: no such file, unreadable, or not TOML; the message has line and column.
    """
    try:
        status = file.stat()
        # Also of what is known from before.
        tell_read(file)
        return _read(file, status.st_mtime_ns, status.st_size)
    except (FileNotFoundError, NoSuchFile):
        raise CatalogError([no_such_file(file)]) from None
    except OSError as error:
        raise CatalogError([f"{display(file)}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise CatalogError([f"{display(file)}: not UTF-8 text at byte {error.start}"]) from None
    except (ValueError, RecursionError) as error:
        raise CatalogError([f"{display(file)}: not valid TOML: {tree_fault(error)}"]) from None


def no_such_file(file: Path) -> str:
    """Say that a file is missing, and which ones its folder holds."""
    beside = sorted(path.name for path in file.parent.glob("*.toml"))
    # The suffix, which all have, would make any of them near.
    close = nearest(file.stem, (name[:-5] for name in beside)).replace("'?", ".toml'?")
    return f"{display(file)}: no such file; its folder holds {one_of(beside)}{close}"


@lru_cache(maxsize=256)
def _read(file: Path, modified_ns: int, size: int) -> dict[str, Any]:
    text = read_file(file).decode()
    # The library takes the square of a key's parts.
    if _LONG_KEY.search(text):
        raise ValueError(f"found a key of more than {4 * DEEPEST} parts")
    table = tomllib.loads(text)
    check_tree(table)
    return table


def render_toml(table: Mapping[str, Any], header: Iterable[str] = ()) -> str:
    """Write a table as TOML.

    Parameters:
        table: words, numbers, booleans, lists and tables.
        header: lines of comment for the top of the file.

    Returns:
        The text, the same for the same table.
    """
    import tomli_w

    comment = "".join(f"# {printable(line)}".rstrip() + "\n" for line in header)
    text = _LIST.sub(_on_one_line, tomli_w.dumps(table))
    return comment + "\n" * bool(comment) + text


def _on_one_line(found: re.Match[str]) -> str:
    # Only this ends a line of TOML; text may hold what Unicode takes for the end of one.
    lines = found[1].strip("\n").split("\n")
    return f"= [{', '.join(line[4:-1] for line in lines)}]"
