"""The declarations of native/verbs.h are those of libibverbs' header."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.programs import header

NATIVE = Path(__file__).parents[2] / "hcasim" / "launch" / "native"
PROGRAM = """\
#include {header}
#include <stddef.h>
#include <stdio.h>
static const long long told[] = {{{values}}};
int main(void)
{{
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		printf("%lld\\n", told[i]);
}}
"""


@pytest.mark.pure
def test_layouts_and_numbers_are_those_of_the_header(tmp_path: Path) -> None:
    header("infiniband/verbs.h", "libibverbs-dev")
    names = _asked((NATIVE / "verbs.h").read_text())
    assert len(names) > 600
    ours = _told(tmp_path, '"verbs.h"', names)
    theirs = _told(tmp_path, "<infiniband/verbs.h>", names)
    assert ours == theirs


def _asked(header: str) -> list[str]:
    """Expressions in C, one for each thing that the header says."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    found = []
    for kind, name, body in re.findall(
        r"^(struct|union) (\w+) \{\n(.*?)^\};", header, re.DOTALL | re.MULTILINE
    ):
        found.append(f"sizeof({kind} {name})")
        for field in _fields(body):
            found.append(f"offsetof({kind} {name}, {field})")
            found.append(f"sizeof((({kind} {name} *)0)->{field})")
    for body in re.findall(r"^enum.*?\{(.*?)\};", header, re.DOTALL | re.MULTILINE):
        found += re.findall(r"\bIBV_\w+(?=\s*[,=\n}]|\s*$)", re.sub(r"=[^,]*", "", body))
    return [one for one in found if "_before_" not in one]


def _fields(body: str) -> list[str]:
    """Names of the fields of a structure, with those of structures within."""
    found: list[str] = []
    while body.strip():
        inner = re.match(r"\s*(?:struct|union) \{(.*)", body, re.DOTALL)
        if inner is None:
            one, body = body.split(";", 1)
            called = re.search(r"\(\*(\w+)\)\(", one)
            found += [called[1]] if called else re.findall(r"\*?(\w+)(?:\[\d+\])?(?:,|\s*$)", one)
            continue
        depth, rest = 1, inner[1]
        end = 0
        while depth:
            depth += {"{": 1, "}": -1}.get(rest[end], 0)
            end += 1
        within = _fields(rest[: end - 1])
        name, body = rest[end:].split(";", 1)
        found += [f"{name.strip()}.{one}" for one in within] if name.strip() else within
    return found


def _told(folder: Path, header: str, names: list[str]) -> dict[str, str]:
    source, made = folder / "told.c", folder / "told"
    source.write_text(PROGRAM.format(header=header, values=",\n".join(names)))
    done = subprocess.run(
        ["cc", "-std=gnu11", "-I", NATIVE, "-o", made, source], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = subprocess.run([made], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(names, told, strict=True))
