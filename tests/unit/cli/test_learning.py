"""Programs of machine learning are called by name, and say all that is wrong at once."""

from typing import Any

import pytest

import hcasim as hc
from hcasim.apps.ml import LEARNING, MODELS
from tests.unit.cli.conftest import Hcasim

TREE = ("--testbed", "fat-tree-64", "-n", "4")


@pytest.mark.parametrize(
    "words",
    [
        ("allreduce", "size=1K,64K"),
        ("data_parallel", "resnet-50", "shards=64", "rate=1Tflop/s"),
        ("experts", "mixtral-8x7b", "tokens=16", "rate=inf"),
        ("pipeline", "bert-large", "microbatches=2", "rate=200Top/s"),
    ],
    ids=LEARNING,
)
def test_each_program_says_what_it_has_found_and_assumed(
    hcasim_: Hcasim, words: tuple[str, ...]
) -> None:
    found = hcasim_("app", *words, *TREE, "--json").json
    assert found["program"] == " ".join(words[: 1 if words[0] == "allreduce" else 2])
    for rank in found["ranks"]:
        assert "messages come from and go to the memory of the host" in rank["returned"]["assumed"]
    assert sum(part["seconds"] for part in found["critical_path"]["parts"]) == pytest.approx(
        found["run_s"]
    )


def test_tables_show_bandwidths(hcasim_: Hcasim) -> None:
    output = hcasim_("app", "allreduce", "size=64K", *TREE, "--algorithm", "allreduce=tree").output
    for words in ("busbw_GBps", "65536", "tree", "an accelerator adds up in no time"):
        assert words in output


@pytest.mark.check
def test_bus_bandwidth_is_that_of_nccl_tests() -> None:
    (row,) = hc.app("allreduce", "fat-tree-64", 4, arguments=["size=1M"]).returned[0].rows
    assert row.algbw_GBps == pytest.approx(2**20 / row.time_us / 1e3, rel=1e-12)
    assert row.busbw_GBps == pytest.approx(1.5 * row.algbw_GBps, rel=1e-12)


def test_a_rate_of_the_host_is_used_and_told() -> None:
    found = hc.app(
        "experts",
        "fat-tree-64",
        4,
        arguments=["mixtral-8x7b", "tokens=16"],
        overrides={"host.computing.tensor": "2 Top/s"},
    )
    routed = found.returned[0]
    model: Any = MODELS["mixtral-8x7b"]
    assert routed.experts_ms == pytest.approx(32 * model.one_expert_operations / 2e9, rel=1e-6)
    assert "2 Tflop/s of each process" in routed.assumed


def test_all_faults_are_told_at_once(hcasim_: Hcasim) -> None:
    done = hcasim_("app", "experts", "mixtrl", "tokens=x", "steps=0", "skow=1", *TREE)
    assert len(done.faults) == 4


@pytest.mark.parametrize("ranks", ["1", "25"])
def test_a_pipeline_has_from_two_stages_to_one_for_each_block(hcasim_: Hcasim, ranks: str) -> None:
    words = ("pipeline", "bert-large", "rate=inf", "--testbed", "fat-tree-64", "-n", ranks)
    assert f"found {ranks}; allowed: 2 to 24" in hcasim_("app", *words).messages
