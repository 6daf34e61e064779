"""A rate limit of perftest's tests is the rate at which requests leave."""

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError


@pytest.mark.parametrize("workload", ["write_bw", "send_bw"])
@pytest.mark.parametrize("qps", [1, 4])
def test_queue_pairs_share_the_port_but_each_has_its_own_limit(workload: str, qps: int) -> None:
    asked = {"size": "64K", "qps": qps, "iters": 200, "jobs": 1}
    (limited,) = hc.bench(workload, "cib", rate_limit=10, **asked).rows
    (free,) = hc.bench(workload, "cib", **asked).rows
    # 10 Gbit/s are 1,250 MB/s with headers; the port of connect_ib carries more than five times it.
    assert 0.94 * 1250 < limited["bandwidth_MBps"] / qps < 1250
    assert limited["bandwidth_MBps"] < free["bandwidth_MBps"]


@pytest.mark.parametrize(
    ("testbed", "options", "fault"),
    [
        ("cib", {"rate_limit": 11}, "static_rate is 11; allowed: 0, 2.5, 5, 10"),
        ("rashti2007", {"rate_limit": 10}, "static_rate is 10; Ethernet has none"),
        (
            "cib",
            {"rate_limit": 10, "connection": "UD", "size": 1024},
            "rate_limit of UD; allowed: of RC",
        ),
    ],
)
def test_a_rate_that_cannot_be_is_refused(
    testbed: str, options: dict[str, object], fault: str
) -> None:
    with pytest.raises(CatalogError, match=fault):
        hc.bench("send_bw", testbed, **options)
