"""Studies: scenarios replayed, compared with what was published, and drawn."""

from hcasim.study.benchmark import Benchmark, bench, prepare, run_benchmark
from hcasim.study.compare import TOLERANCES, Comparison, compare
from hcasim.study.curve import Curve
from hcasim.study.experiment import Scenario
from hcasim.study.files import FileError, make_folder, write_atomically
from hcasim.study.replays import Replay, replay
from hcasim.study.report import Report, reproduce
from hcasim.study.scenario import (
    list_papers,
    list_scenarios,
    load_context,
    load_scenario,
    load_scenarios,
)
from hcasim.study.sizes import axis_label, parse_sizes
from hcasim.study.verdict import Verdict, judge

__all__ = [
    "TOLERANCES",
    "Benchmark",
    "Comparison",
    "Curve",
    "FileError",
    "Replay",
    "Report",
    "Scenario",
    "Verdict",
    "axis_label",
    "bench",
    "compare",
    "judge",
    "list_papers",
    "list_scenarios",
    "load_context",
    "load_scenario",
    "load_scenarios",
    "make_folder",
    "parse_sizes",
    "prepare",
    "replay",
    "reproduce",
    "run_benchmark",
    "write_atomically",
]
