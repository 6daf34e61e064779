"""The benchmarks, by the names of the tools that users know."""

from hcasim.workloads.options import Options
from hcasim.workloads.registry import WORKLOADS, Point, Workload, run_point

__all__ = ["WORKLOADS", "Options", "Point", "Workload", "run_point"]
