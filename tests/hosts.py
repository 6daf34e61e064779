"""Hosts with round numbers, so that the expected times can be worked out by hand."""

from typing import Any

from hcasim.catalog import Host

GB = 10**9
PORT = {
    "completion": 64,
    "short_read": 0,
    "posted_header_credits": 32,
    "posted_data_credits": 256,
    "nonposted_header_credits": 32,
}
_ROUND: dict[str, dict[str, Any]] = {
    "cache": {"size": 2**20, "hit_bandwidth": 8 * GB, "miss_bandwidth": 2 * GB, "ddio": 0},
    "memory": {"read_latency": 400_000, "write_latency": 100_000, "bandwidth": 10 * GB},
    "chipset": {"mmio_latency": 50_000},
    "root_port": PORT,
    "pcix_bridge": {"latency": 200_000, "completion_burst": 512, "streaming": True, "buffer": 4096},
}


def round_host(cpus: int = 1, sockets: int = 1, **sections: Any) -> Host:
    """Memory latencies of 400 and 100 ns, 50 ns to a register, 200 ns through the bridge.

    Args:
        sections: what is otherwise, or beside it, by section.
    """
    given = {name: _ROUND.get(name, {}) | sections.get(name, {}) for name in _ROUND | sections}
    title = "A host with round numbers"
    return Host.model_validate(
        {"id": "round", "title": title, "cpus": cpus, "sockets": sockets, **given}
    )
