/* Reads both clocks at two instants, each the shortest of many tries. */
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
