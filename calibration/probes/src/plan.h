/* What to measure: points, read from the lines of a plan. */
#ifndef PLAN_H
#define PLAN_H

#include "point.h"

struct plan {
    struct point *points;
    size_t count;
    char sha256[65];
    uint64_t seed;
};

/* Reads a file, which lists points, and shuffles them unless the seed is 0. Every fault is printed
 * with its line. */
bool plan_read(const char *file, uint64_t seed, struct plan *plan);

uint64_t draw(uint64_t *state);

#endif
