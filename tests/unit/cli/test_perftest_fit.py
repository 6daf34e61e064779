"""A bandwidth of perftest is fitted to: a trace in its form gives back what it was made with."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Hcasim


@pytest.mark.check
def test_the_parameter_of_a_printed_bandwidth_comes_back(hcasim_: Hcasim, tmp_path: Path) -> None:
    printed, trace, fit = (tmp_path / name for name in ("bw.txt", "bw.jsonl", "fit.toml"))
    made = ("--set", "adapter.send.wqe_service=900 ns", "--iters", "300", "--tx-depth", "32")
    words = ("bench", "write_bw", "--testbed", "liu2004", "--size", "8,512", "-j", "1", *made)
    printed.write_text(hcasim_(*words, "--cq-mod", "8", "--format", "perftest").output)
    assert hcasim_("import", str(printed), "-o", str(trace)).code == 0
    options = json.loads(trace.read_text().splitlines()[1])["options"]
    assert {name: options[name] for name in ("tx_depth", "cq_mod", "qps", "iters")} == {
        "tx_depth": 32,
        "cq_mod": 8,
        "qps": 1,
        "iters": 300,
    }
    asked = ("--free", "adapter.send.wqe_service=100ns..5us", "--intervals", "linear")
    found = hcasim_("calibrate", str(trace), "--testbed", "liu2004", *asked, "-o", str(fit))
    assert found.code == 0, found.messages
    assert "left out" not in found.output
    value = tomllib.loads(fit.read_text())["entries"]["adapters.mt25208.send.wqe_service"]["value"]
    assert float(value.removesuffix(" ns")) == pytest.approx(900, rel=0.01)
