"""What the probes write of windows that took less than a tick of the clock."""

import json
import subprocess
from pathlib import Path

import pytest

PROGRAM = r"""
#include "trace.h"

struct clock_fit the_clock = {.source = CLOCK_SYSTEM, .ns_per_tick = 2};
const struct probe PROBES[] = {{.name = "window_bw"}, {0}};

int main(void)
{
    uint64_t none[] = {0, 0, 0}, some[] = {4, 0, 1, 0};
    struct session s = {.point = {.probe = PROBES}, .bytes = 64, .messages = 8};
    s.series_count = 1;
    s.series[0] = (struct series){"window", none, 3, 1.0};
    trace_point(stdout, &s, false);
    s.series[0] = (struct series){"window", some, 4, 1.0};
    trace_point(stdout, &s, false);
    return 0;
}
"""
SOURCES = "trace", "point", "keys", "number", "faults"
TICK_NS = 2


def refuse(text: str) -> float:
    raise AssertionError(f"{text} is no JSON")


def test_a_window_of_no_ticks_has_a_finite_rate(sources: Path, tmp_path: Path) -> None:
    program, source = tmp_path / "rates", tmp_path / "rates_test.c"
    source.write_text(PROGRAM)
    words = ["-O1", "-std=c11", "-D_GNU_SOURCE", "-I", sources / "src"]
    files = [sources / "src" / f"{name}.c" for name in SOURCES]
    subprocess.run(["cc", *words, "-o", program, source, *files, "-lm"], check=True)
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
