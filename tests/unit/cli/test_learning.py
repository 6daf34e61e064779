"""Programs of machine learning are called by name, and say all that is wrong at once."""

import json
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
    found = json.loads(hcasim_("app", *words, *TREE, "--json").output)
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("alreduce", "did you mean 'allreduce'?"),
        ("pipeline mixtral rate=inf", "did you mean 'mixtral-8x7b'?"),
        ("pipeline", "pipeline: model: found none; allowed: bert-large"),
        ("pipeline resnet-50 rate=inf", "model: found 'resnet-50'; allowed: bert-large"),
        ("experts bert-large rate=inf", "found 'bert-large'; allowed: mixtral-8x7b"),
        ("data_parallel resnet-50", "host.computing.tensor: xeon-e7520 has none; needed: rate="),
        ("data_parallel resnet-50 rate=0flop/s", "allowed: 1 to 1e24 flop/s, or inf"),
        ("data_parallel resnet-50 rate=2", "found '2' with no unit"),
        ("data_parallel resnet-50 rate=inf overlap=ja", "found 'ja'; allowed: yes or no"),
        ("data_parallel resnet-50 rate=inf batch=0", "batch: found '0'; allowed: 1 to"),
        ("data_parallel resnet-50 rate=inf bach=1", "did you mean 'batch'?"),
        ("data_parallel resnet-50 rate=", "rate: found nothing; needed: operations"),
        ("allreduce size=1M size=2M", "size: found twice, '1M' and '2M'"),
        ("allreduce size=1X", "found '1X' with the unit 'X'"),
        ("allreduce size=0", "found '0'; allowed: 1 B to 64 GiB"),
        ("allreduce size=40G,40G", "found messages of 80 GiB; allowed: up to 64 GiB"),
        ("data_parallel gpt-3-175b rate=inf", "found messages of 650 GiB; allowed: up to"),
        ("data_parallel resnet-50 rate=1flop/s", "seconds; allowed: 0 to 1000000"),
        ("allreduce 1M", "found '1M'; allowed: size=..., steps=..., warmup=... or combining=..."),
        ("allreduce combining=1", "or inf or host"),
        ("experts mixtral-8x7b rate=inf tokens=3", "tokens: found 3; allowed: what 4 processes"),
        ("experts mixtral-8x7b rate=inf group=3", "group: found 3; allowed: a group of 1, 2, 4"),
        ("experts mixtral-8x7b rate=inf skew=1", "skew: found without seed"),
        ("experts mixtral-8x7b rate=inf seed=1 skew=-1", "skew: found '-1'; allowed: 0 to 10"),
    ],
)
def test_what_cannot_be_run_is_refused(hcasim_: Hcasim, words: str, said: str) -> None:
    done = hcasim_("app", *words.split(), *TREE)
    assert done.code == 2
    assert said in done.messages
    assert not done.output


def test_all_faults_are_told_at_once(hcasim_: Hcasim) -> None:
    done = hcasim_("app", "experts", "mixtrl", "tokens=x", "steps=0", "skow=1", *TREE)
    assert len(done.faults) == 4


def test_a_pipeline_has_at_least_two_stages_and_at_most_one_for_each_block(hcasim_: Hcasim) -> None:
    words = ("pipeline", "bert-large", "rate=inf", "--testbed", "fat-tree-64")
    assert "found 1; allowed: 2 to 24" in hcasim_("app", *words, "-n", "1").messages
    assert "found 25; allowed: 2 to 24" in hcasim_("app", *words, "-n", "25").messages
