"""Parts of the probes in C programs of their own: their clock, and what they write of no time."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TICK_NS = 2


def test_the_fitted_counter_agrees_with_the_system_clock(
    sources: Path, compile_c: Callable[..., Path]
) -> None:
    program = compile_c("clock.c", "-O2", sources / "src" / "clock.c", "-lm")
    done = subprocess.run([program], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("the counter of this processor is not constant")
    assert done.returncode == 0
    ratio, error_ppm, overhead_ns = map(float, done.stdout.split())
    assert ratio == pytest.approx(1, rel=1e-3)
    assert 0 <= error_ppm <= 100
    assert overhead_ns > 0


def refuse(text: str) -> float:
    raise AssertionError(f"{text} is no JSON")


def test_a_window_of_no_ticks_has_a_finite_rate(
    sources: Path, compile_c: Callable[..., Path]
) -> None:
    used = [sources / "src" / f"{n}.c" for n in ("trace", "point", "keys", "number", "faults")]
    program = compile_c("rates.c", *used, "-lm")
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    for line, ticks in zip(done.stdout.splitlines(), ((0, 0, 0), (4, 0, 1, 0)), strict=True):
        bandwidth, rate, window = json.loads(line, parse_constant=refuse)["measured"]
        assert window["samples"] == [TICK_NS * one for one in ticks]
        times = sorted(TICK_NS * max(one, 1) for one in ticks)
        for measured, amount in ((bandwidth, 64), (rate, 8)):
            found = measured["statistics"]
            assert found["minimum"] == pytest.approx(1e3 * amount / times[-1])
            assert found["maximum"] == pytest.approx(1e3 * amount / TICK_NS)
            assert found["mean"] == pytest.approx(1e3 * amount * len(times) / sum(times))
            assert found["median"] == pytest.approx(1e3 * amount / TICK_NS)
            assert (found["deviation"] > 0) == (len(set(times)) > 1)
