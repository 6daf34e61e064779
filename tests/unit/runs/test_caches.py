"""What the counters say about the caches is put into words of its own."""

from hcasim.catalog import resolve
from hcasim.runs.benchmark import cache_use

COUNTERS = {"sqpc_access_cnt": 8, "sqpc_miss_cnt": 2, "sqpc_wait_ps": 1_500_000}
COUNTERS |= {"sqpc_fetch_ps": 1_300_000, "mtt_miss_cnt": 0}


def test_each_cache_that_was_used_has_its_hits_and_its_waiting() -> None:
    assert cache_use(resolve("sur2005"), COUNTERS) == [
        {
            "name": "sqpc",
            "accesses": 8,
            "misses": 2,
            "hit_rate": 0.75,
            "fetch_us": 0.65,
            "waited_us": 1.5,
            "table": "adapter",
        }
    ]


def test_without_memory_on_the_adapter_the_tables_are_in_the_host() -> None:
    (sqpc,) = cache_use(resolve("sur2005", firmware_mode="memfree"), COUNTERS)
    assert sqpc["table"] == "host"
