"""--profile says what simulating cost."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hcasim.schemas.making import schema
from tests.unit.cli.conftest import Hcasim

BENCH = ("bench", "window_bw", "--testbed", "liu2004", "--iters", "4", "--warmup", "0")
DEVICE = ("bench", "lat_rd", "--testbed", "pcie-bench-haswell", "--size", "64")
RUN = ("run", "rashti2007/fig4")
TIMES = {"wall_s", "packets_per_s", "queue_s", "setup_s", "seconds", "share"}


def keys(value: Any) -> set[str]:
    """All names in a document."""
    if isinstance(value, dict):
        return set(value) | set().union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@pytest.mark.check
def test_text_has_a_line_for_each_point_and_each_block(hcasim_: Hcasim) -> None:
    lines = hcasim_(*BENCH, "--size", "1K,256K", "--profile").output.splitlines()
    begin = lines.index("What simulating cost")
    assert lines[begin + 1].split() == [
        *("Of", "Events", "Packets", "Left", "out", "Seconds", "Packets/s"),
    ]
    points = [line.rsplit(maxsplit=5)[0].strip() for line in lines[begin + 2 : begin + 5]]
    assert points == ["1024 B", "256 KiB", "all"]
    blocks = lines[lines.index("By block, with what it has others do at once") + 2 :]
    assert {"Transmitter", "software"} <= {line.split()[0] for line in blocks}
    assert [line[:15].strip() for line in blocks[-2:]] == ["queue of events", "set-up"]
    assert all(line.endswith(" %") for line in blocks)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ((*BENCH, "--size", "8"), "bench"),
        ((*BENCH, "--size", "8,64"), "bench"),
        ((*DEVICE, "--window-bytes", "4K,8K"), "bench"),
        (RUN, "run"),
        pytest.param(("reproduce", "rashti2007/fig4"), "reproduce", marks=pytest.mark.check),
    ],
)
def test_a_document_is_the_same_beside_what_it_cost(
    hcasim_: Hcasim, words: tuple[str, ...], name: str
) -> None:
    def printed(*more: str) -> Any:
        found = hcasim_(*words, "--json", "--no-timing", *more).json
        jsonschema.validate(found, schema(name))
        return found

    usual, profiled = printed(), printed("--profile")
    profile = profiled.pop("profile")
    assert profiled == usual
    assert profile["events"] > 0
    assert not keys(profile) & TIMES


def test_what_a_traced_point_cost_is_written_too(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    words = ("--size", "8", "--profile", "--trace", str(tmp_path / "events.tsv"))
    assert "By block" in hcasim_(*BENCH, *words, "-o", str(file)).output
    profile = json.loads(file.read_text())["profile"]
    assert keys(profile) >= TIMES
    assert "points" not in profile


@pytest.mark.parametrize("words", [RUN, ("reproduce", "rashti2007/fig4")])
def test_papers_have_one_table_for_all_that_was_simulated(
    hcasim_: Hcasim, words: tuple[str, ...]
) -> None:
    output = hcasim_(*words, "--profile").output
    assert output.count("What simulating cost") == 1
    assert "By block" in output
