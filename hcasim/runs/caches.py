"""How the adapter's caches fared, from its counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hcasim.catalog import Adapter, Machine


def cache_use(machine: Machine, counters: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return one entry for each cache that was used.

    Parameters:
        machine: says where the table behind each cache is.
        counters: of the adapters, such as "sqpc_miss_cnt"; all iterations that were run count.

    Returns:
        For each cache its name, accesses, misses and hit rate (0 to 1); the mean time in which
        memory answered a fetch and the time that work waited in all, in microseconds; and whether
        the table is in the "host" or the "adapter".
    """
    adapter = machine.adapter
    found: list[dict[str, Any]] = []
    if not isinstance(adapter, Adapter):
        return found
    for name, table in adapter.caches.items():
        accesses = counters.get(f"{name}_access_cnt", 0)
        if not accesses:
            continue
        misses = counters.get(f"{name}_miss_cnt", 0)
        found.append(
            {
                "name": name,
                "accesses": accesses,
                "misses": misses,
                "hit_rate": 1 - misses / accesses,
                "fetch_us": counters.get(f"{name}_fetch_ps", 0) / misses / 1e6 if misses else 0.0,
                "waited_us": counters.get(f"{name}_wait_ps", 0) / 1e6,
                "table": "host" if adapter.in_host(table) else "adapter",
            }
        )
    return found
