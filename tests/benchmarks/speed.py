"""Measures the cases in each build, and puts the table into the page of the site: `make speed`.

python -m tests.benchmarks.speed [PYTHON OF THE COMPILED BUILD]
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.cases import CASES, Speed

PAGE = Path(__file__).resolve().parents[1] / "docs/site/pages/explanation/speed.md"
BEGIN, END = "<!-- make speed -->\n", "<!-- end -->\n"
BUILDS = ("pure Python", "compiled")
COLUMNS = ("s", "packets/s", "loop")


def processor() -> str:
    """Name of this machine's processor, and how many of them there are."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"^model name\s*: (.+)$", info.read_text(), re.MULTILINE)
        name = found[1] if found else name
    return f"{name}, {os.cpu_count()} cores"


def run(python: str, case: str) -> dict[str, Any]:
    """Measure a case in the build that a Python has installed."""
    script = Path(__file__).with_name("cases.py")
    environment = {name: one for name, one in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, script, case], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(found: Mapping[str, Mapping[str, Speed]], where: str) -> str:
    """The text for the document.

    Args:
        found: by build and case.
        where: the Python and the machine.
    """
    loop = min(one.loop_seconds for speeds in found.values() for one in speeds.values())
    heads = ["", "events", "packets", *(f"{build}: {c}" for build in found for c in COLUMNS)]
    lines = [
        f"{where}. The bare loop: {1 / loop / 1e6:.1f} M events/s.",
        "",
        _line(heads),
        _line(["---", *["---:"] * (len(heads) - 1)]),
    ]
    for name, case in CASES.items():
        speeds = [one[name] for one in found.values()]
        cells = [case.title, f"{speeds[0].events:,}", f"{speeds[0].packets:,}"]
        for one in speeds:
            cells += [f"{one.seconds:.2f}", f"{one.packets_per_s:,.0f}", f"{one.loops / 1e6:.2f} M"]
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def put(document: str, made: str) -> str:
    """Put a table between the marks of a document.

    Raises:
        ValueError: if it has none.
    """
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"there is no {BEGIN.strip()} with an {END.strip()} behind it")
    return f"{before}{begin}\n{made}\n{end}{after}"


def main(compiled: str = "") -> None:
    """Measure, print, and write what is of both builds."""
    pythons = [sys.executable, *([compiled] if Path(compiled).is_file() else [])]
    found: dict[str, dict[str, Speed]] = {}
    version = ""
    for case in CASES:
        for python in pythons:
            values = run(python, case)
            build, version = values.pop("build"), values.pop("python")
            found.setdefault(build, {})[case] = Speed(**values)
    made = table(found, f"Python {version}, {processor()}")
    print(made)
    if tuple(found) == BUILDS:
        PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")
        print(f"Wrote it into {PAGE.name}")
    else:
        print(f"{PAGE.name} has both builds, and stays as it is: one is missing here")


if __name__ == "__main__":
    main(*sys.argv[1:])
