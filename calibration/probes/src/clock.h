/* Ticks of the processor's clock and what they are worth. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum clock_source { CLOCK_AUTO, CLOCK_TSC, CLOCK_SYSTEM };

struct clock_fit {
    enum clock_source source;
    double hz;
    double error_ppm;
    double overhead_ns;
    double ns_per_tick;
};

extern struct clock_fit the_clock;

/* Fits ticks to the system's clock. CLOCK_AUTO takes the system's clock if the processor has no
 * constant counter, or if the fit is worse than 100 ppm. Returns false if CLOCK_TSC was asked for
 * and cannot be had. */
bool clock_calibrate(enum clock_source wanted);

static inline int64_t system_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#if defined(__x86_64__)
static inline uint64_t counter(void)
{
    /* lfence: nothing that is timed may begin before, or end after. */
    __builtin_ia32_lfence();
    uint64_t now = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return now;
}
#elif defined(__aarch64__)
static inline uint64_t counter(void)
{
    uint64_t now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now)::"memory");
    return now;
}
#else
static inline uint64_t counter(void)
{
    return (uint64_t)system_ns();
}
#endif

static inline uint64_t ticks(void)
{
    return the_clock.source == CLOCK_TSC ? counter() : (uint64_t)system_ns();
}

#endif
