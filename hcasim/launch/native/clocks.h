/* Times of the C library, in ps of simulated time. */
#ifndef HCASIM_CLOCKS_H
#define HCASIM_CLOCKS_H

#include <stdint.h>
#include <time.h>

/* A length, and when a clock shows a time. */
uint64_t length_ps(const struct timespec *time);
uint64_t due_ps(clockid_t clock, const struct timespec *time);
struct timespec as_length(uint64_t ps);

/* timers.c: let descriptors of timers that are due be readable; returns when the next one is due, or
 * a time before that, if that is not 0. */
uint64_t settle_timers(uint64_t until_ps);

#endif
