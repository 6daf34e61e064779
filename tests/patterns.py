"""What a pattern of flows says, as a whole and of each flow."""

from typing import Any

from hcasim.runs.benchmark import bench


def flows_of(workload: str, testbed: str = "ideal-100g", **options: Any) -> Any:
    """The row, and what the breakdown says of each flow."""
    found = bench(workload, testbed=testbed, explain=True, **options)
    return found.rows[0], found.breakdowns[0]["flows"]
