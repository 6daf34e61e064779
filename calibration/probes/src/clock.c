#include "clock.h"

#include <math.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { PAIRS = 64, TRIES = 8, STEP_NS = 2000000, READINGS = 1000 };
static const double WORST_PPM = 100;

struct clock_fit the_clock = {.source = CLOCK_SYSTEM, .ns_per_tick = 1};

static bool counter_is_constant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

/* One instant on both clocks: of several tries the one that took the shortest. */
static void read_both(double *ticks_now, double *ns_now)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = counter();
        int64_t ns = system_ns();
        uint64_t width = counter() - before;
        if (width < shortest) {
            shortest = width;
            *ticks_now = (double)before + (double)width / 2;
            *ns_now = (double)ns;
        }
    }
}

/* Least squares of ticks over nanoseconds; the error is twice the standard error of the slope. */
static void fit_counter(struct clock_fit *fit)
{
    double x[PAIRS], y[PAIRS], mean_x = 0, mean_y = 0;
    double first_x = 0, first_y = 0;
    int64_t next = system_ns();
    for (int i = 0; i < PAIRS; i++) {
        while (system_ns() < next)
            ;
        next += STEP_NS;
        read_both(&y[i], &x[i]);
        if (i == 0) {
            first_x = x[0];
            first_y = y[0];
        }
        x[i] -= first_x;
        y[i] -= first_y;
        mean_x += x[i] / PAIRS;
        mean_y += y[i] / PAIRS;
    }
    double xx = 0, xy = 0, rest = 0;
    for (int i = 0; i < PAIRS; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    double slope = xy / xx;
    for (int i = 0; i < PAIRS; i++) {
        double off = y[i] - mean_y - slope * (x[i] - mean_x);
        rest += off * off;
    }
    double error = 2 * sqrt(rest / (PAIRS - 2) / xx);
    fit->hz = slope * 1e9;
    fit->error_ppm = slope > 0 ? error / slope * 1e6 : INFINITY;
    fit->ns_per_tick = 1 / slope;
}

bool clock_calibrate(enum clock_source wanted)
{
    struct clock_fit fit = {.source = CLOCK_SYSTEM, .ns_per_tick = 1};
    if (wanted != CLOCK_SYSTEM && counter_is_constant()) {
        fit_counter(&fit);
        fit.source = CLOCK_TSC;
    }
    if (fit.source == CLOCK_TSC && !(fit.error_ppm <= WORST_PPM))
        fit = (struct clock_fit){.source = CLOCK_SYSTEM, .ns_per_tick = 1};
    if (wanted == CLOCK_TSC && fit.source != CLOCK_TSC)
        return false;
    the_clock = fit;
    uint64_t begin = ticks();
    for (int i = 1; i < READINGS; i++)
        (void)ticks();
    the_clock.overhead_ns = (double)(ticks() - begin) * fit.ns_per_tick / READINGS;
    return true;
}
