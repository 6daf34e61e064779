"""What says now what other names said, for descriptions and settings that still have those."""

from __future__ import annotations

from typing import Final

_LINK: Final = "no key, as packets follow each other as fast as data and link allow"
_UNITS: Final = "'adapter.send.units': as many messages go on at once"
_WALK: Final = "'host.iommu.walks': each walk is a read of memory"
_BASE: Final = "'rdma-core', with --work, --locks and --rounds for what the program does"
_KEYS: Final = {
    "adapter.send.gap": _LINK,
    "adapter.send.rest": _UNITS,
    "adapter.send.unit_bandwidth": _UNITS,
    "adapter.send.read_interval": "'adapter.send.window': what a queue pair reads at once",
    "adapter.responder.rest": "'adapter.responder.read_interval'",
    "host.cache.read_latency": "'host.memory.dram_latency': what a read saves by the cache",
    "host.root_port.read_interval": "'host.root_port.outstanding_reads'",
    "host.root_port.write_hold": "'host.root_port.outstanding_lines'",
    "host.iommu.walk_latency": _WALK,
    "host.iommu.walk_interval": _WALK,
    "stack.doorbell": "'host.core.fence'",
    "stack.post_wr": "'stack.cycles.post_wr'",
    "stack.blueflame": "'stack.cycles.blueflame'",
    "stack.service": "--work, in cycles of the program",
}
_IDS: Final = {
    **{f"rdma-core-{one}": _BASE for one in ("containers", "herd", "krcore", "lean", "r2", "vm")},
    "epyc-rome-vm": "'epyc-rome'",
}


def successor(path: str) -> str:
    """Return `; instead: x` for a key that is no longer there, with the group before it or not."""
    inner = path if path in _KEYS else path.partition(".")[2]
    return f"; instead: {_KEYS[inner]}" if inner in _KEYS else ""


def successor_of_id(identifier: object) -> str:
    """Return the same for the id of a description."""
    found = _IDS.get(identifier) if isinstance(identifier, str) else None
    return f"; instead: {found}" if found else ""
