/* One measurement to make: a workload and its options. */
#ifndef POINT_H
#define POINT_H

#include <stdio.h>

#include "keys.h"

struct session;

/* A benchmark. */
struct probe {
    const char *name;
    const char *title;
    uint32_t keys;                      /* bits of its options, by enum key */
    int64_t size, iters, warmup;        /* defaults */
    bool alone;                         /* needs no server */
    bool (*run)(struct session *);      /* on either side */
};

extern const struct probe PROBES[];

struct point {
    const struct probe *probe;
    int64_t value[KEYS];
};

struct points {
    struct point *list;
    size_t count, most;
    bool full; /* and more were asked for */
};

bool has_key(const struct probe *probe, enum key key);

/* False for an MTU or a fault that nobody has asked for. */
bool is_said(const struct point *point, enum key key);

/* The word of an option whose values are words or yes and no, or NULL if they are numbers. */
const char *word_of(const struct point *point, enum key key);

/* Reads a line and adds each point that it stands for. Cuts the line up. */
bool points_read(char *line, struct points *points, struct faults *faults);

/* Reads one point from text, such as what point_print has written. Faults go to `errors`. */
bool point_parse(const char *text, struct point *point, FILE *errors);

void point_print(const struct point *point, FILE *out);

#endif
