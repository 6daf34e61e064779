"""The probes' clock: ticks of the processor, fitted to the system's time."""

import subprocess
from pathlib import Path

import pytest

# Reads both clocks at two instants, each the shortest of many tries.
PROGRAM = r"""
#include <stdio.h>
#include "clock.h"

static void read_both(double *ours, double *theirs)
{
    double shortest = 1e18;
    for (int i = 0; i < 1000; i++) {
        int64_t before = system_ns();
        uint64_t now = ticks();
        double width = (double)(system_ns() - before);
        if (width < shortest) {
            shortest = width;
            *ours = (double)now * the_clock.ns_per_tick;
            *theirs = (double)before + width / 2;
        }
    }
}

int main(void)
{
    double a, b, c, d;
    if (!clock_calibrate(CLOCK_TSC))
        return 77;
    read_both(&a, &b);
    for (int64_t end = system_ns() + 200000000; system_ns() < end;)
        ;
    read_both(&c, &d);
    printf("%.9f %.3f %.3f\n", (c - a) / (d - b), the_clock.error_ppm, the_clock.overhead_ns);
    return clock_calibrate(CLOCK_SYSTEM) && the_clock.ns_per_tick == 1 ? 0 : 1;
}
"""


def test_the_fitted_counter_agrees_with_the_system_clock(sources: Path, tmp_path: Path) -> None:
    program, source = tmp_path / "clock", tmp_path / "clock_test.c"
    source.write_text(PROGRAM)
    words = ["-O2", "-std=c11", "-D_GNU_SOURCE", "-I", sources / "src"]
    subprocess.run(
        ["cc", *words, "-o", program, source, sources / "src" / "clock.c", "-lm"], check=True
    )
    done = subprocess.run([program], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("the counter of this processor is not constant")
    assert done.returncode == 0
    ratio, error_ppm, overhead_ns = map(float, done.stdout.split())
    assert ratio == pytest.approx(1, rel=1e-3)
    assert 0 <= error_ppm <= 100
    assert overhead_ns > 0
