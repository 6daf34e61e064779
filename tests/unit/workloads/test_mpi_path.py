"""The critical path of a collective leads from its end to its begin, rank by rank."""

from functools import cache
from typing import Any

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.catalog.algorithms import NAMES as COLLECTIVES
from hcasim.workloads import Options, run_point


@cache
def fat_tree(stack: str = "mvapich-0.9.5", **overrides: str) -> Machine:
    paths = {name.replace("__", "."): value for name, value in overrides.items()}
    return resolve("fat-tree-64", stack=stack, overrides=paths)


def explained(
    name: str, machine: Machine, size: int = 64, nodes: int = 8, **options: Any
) -> dict[str, Any]:
    few = Options(size=size, nodes=nodes, iters=2, warmup=1, explain=True, **options)
    return run_point(name, machine, few).breakdown


def hops(found: dict[str, Any]) -> list[tuple[int, int]]:
    """The ranks that wait for another one, each with that one, in order."""
    ways = [(one["rank"], one["to"]) for one in found["path"] if "to" in one]
    return [way for way in ways if way[0] != way[1]]


def is_a_chain(path: list[dict[str, Any]]) -> bool:
    """Whether each step is where the one before has led; packets may follow data to one rank."""
    at, before = path[0]["rank"], None
    for step in path:
        way = (step["rank"], step["to"]) if "to" in step else None
        if step["rank"] != at and way != before:
            return False
        at, before = step.get("to", at), way
    return True


@pytest.mark.parametrize(
    ("name", "algorithm", "nodes", "number"),
    [
        ("osu_bcast", "binomial", 8, 3),
        ("osu_bcast", "binomial", 16, 4),
        ("osu_reduce", "binomial", 8, 3),
        ("osu_allgather", "ring", 8, 7),
        ("osu_allgather", "ring", 5, 4),
        ("osu_allgather", "recursive_doubling", 8, 3),
        ("osu_allreduce", "recursive_doubling", 8, 3),
        ("osu_barrier", "dissemination", 8, 3),
        ("osu_gather", "linear", 8, 1),
    ],
)
def test_the_path_has_as_many_hops_as_the_algorithm_has_rounds(
    name: str, algorithm: str, nodes: int, number: int
) -> None:
    found = explained(name, fat_tree(), nodes=nodes, algorithm=algorithm)
    assert found["algorithm"] == algorithm
    assert len(hops(found)) == number
    assert is_a_chain(found["path"])


def test_a_tree_is_followed_from_its_root_to_its_last_leaf() -> None:
    found = hops(explained("osu_bcast", fat_tree(), algorithm="binomial"))
    assert found == [(0, 4), (4, 6), (6, 7)]


@pytest.mark.parametrize(
    ("name", "size", "processes"),
    [
        (f"imb_{name}", size, 1 + turn % 2)
        for turn, name in enumerate([*COLLECTIVES, "exchange"])
        for size in (4, (3000, 30_000)[turn % 2])
    ],
)
def test_the_path_adds_up_to_the_time_of_the_call(name: str, size: int, processes: int) -> None:
    machine = resolve("liu2004", stack="mvapich-0.9.5")
    found = explained(name, machine, size, 4, processes=processes)
    total = sum(round(step["us"] * 1e6) for step in found["path"])
    assert total == round(found["total_us"] * 1e6) > 0
    assert is_a_chain(found["path"])
    assert not {step["step"] for step in found["path"]} & {"", "other", "post_send"}
    for step in found["path"]:
        stages = sum(round(stage["us"] * 1e6) for stage in step.get("stages", ()))
        assert stages == (round(step["us"] * 1e6) if "to" in step else 0)


@pytest.mark.parametrize("stack", ["lam-7.1", "mpich2-nes"])
def test_who_waits_until_its_message_has_gone_waits_for_its_completion(stack: str) -> None:
    """The root sends one message behind the other, each when the one before has completed."""
    testbed = "benjegerdes2004" if stack == "lam-7.1" else "rashti2007"
    found = explained("osu_bcast", resolve(testbed, stack=stack), nodes=2, algorithm="binomial")
    total = sum(round(step["us"] * 1e6) for step in found["path"])
    assert total == round(found["total_us"] * 1e6)
    own = [step for step in found["path"] if step.get("to") == step["rank"]]
    assert [step["stages"][-1]["stage"] for step in own] == ["acknowledgement"] * len(own)
    assert own or stack != "lam-7.1"


@pytest.mark.parametrize(
    ("overrides", "size", "binding"),
    [
        ({}, 2**18, ".link"),
        ({"host.cache.hit_bandwidth": "50 MB/s"}, 2**12, ".cpu0"),
        ({"host.memory.bandwidth": "400 MB/s"}, 2**15, ".memory"),
    ],
)
def test_what_binds_an_exchange_of_all_with_all_is_named(
    overrides: dict[str, str], size: int, binding: str
) -> None:
    machine = resolve("liu2004", stack="mvapich-0.9.5", overrides=overrides)
    assert explained("osu_alltoall", machine, size, 4)["binds"].endswith(binding)
