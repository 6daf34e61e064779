"""Simulated benchmarks are written as traces and read back as what they were."""

from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.gathering import gather
from hcasim.calibrate.request import find_base, mismatches
from hcasim.runs.benchmark import bench
from hcasim.runs.experiment import Experiment
from hcasim.runs.foreign import to_trace
from hcasim.traces import read_trace, render


@pytest.mark.parametrize(
    ("workload", "testbed", "options"),
    [
        ("write_lat", "liu2004", {"size": "8,64"}),
        ("window_bw", "rashti2007", {"size": "4K", "verb": "send", "window": 16, "qps": [1, 2]}),
        ("window_bw", "liu2004", {"size": "8K", "mode": "striping", "iters": 20}),
        ("reg_mr", "liu2004", {"size": "4K"}),
        ("netpipe", "liu2004", {"size": "64", "verb": "write"}),
    ],
)
def test_a_simulated_trace_is_met_exactly(
    tmp_path: Path, workload: str, testbed: str, options: dict[str, Any]
) -> None:
    result = bench(workload, testbed, **options)
    file = tmp_path / "trace.jsonl"
    file.write_text(render(to_trace(result)))
    trace = read_trace(file)
    base, machine = find_base(Experiment.of("", testbed), mpi=False)
    assert list(mismatches(trace.header, machine)) == []
    found = gather({"trace": trace}, base, machine)
    assert found.notes == ()
    points = [one.experiments[0].benchmark()[0] for one in found.observations]
    assert result.options in [point.options for point in points]
    for one, point in zip(found.observations, points, strict=True):
        row = next(
            row
            for row in result.curve.rows
            if all(row.get(n, v) == v for n, v in vars(point.options).items())
        )
        assert float(one.published) == pytest.approx(row[one.field], rel=1e-6)
