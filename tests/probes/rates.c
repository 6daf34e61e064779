/* Writes two points whose windows took no tick, and few. */
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
