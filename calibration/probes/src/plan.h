/* What to measure: points, read from the lines of a plan. */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The options of a point, as `hcasim bench` names them, and `fault`: what to do wrong on purpose. */
enum key {
    SIZE, QPS, WINDOW, PORTS, MODE, INLINE, OP, THRESHOLD, REUSE, BUFFERS, PAGE_SIZE, PATTERN, MTU,
    FAULT, ITERS, WARMUP, KEYS
};
enum mode { SINGLE, STRIPING, BINDING };
enum op { FETCH_ADD, CMP_SWAP };
enum pattern { CYCLIC, RANDOM, ZIPF };
enum fault { NO_FAULT, WRONG_RKEY, WRONG_LKEY, WRONG_SIZE, WRONG_QP };

enum { MAX_PORTS = 2 };

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

const struct probe *find_probe(const char *name);

/* One measurement to make. */
struct point {
    const struct probe *probe;
    int64_t value[KEYS];
};

struct plan {
    struct point *points;
    size_t count;
    char sha256[65];
    uint64_t seed;
};

bool has_key(const struct probe *probe, enum key key);
const char *key_name(enum key key);

/* False for an MTU or a fault that nobody has asked for. */
bool is_said(const struct point *point, enum key key);

/* The word of an option whose values are words or yes and no, or NULL if they are numbers. */
const char *word_of(const struct point *point, enum key key);

/* Reads a file, which lists points, and shuffles them unless the seed is 0. Every fault is printed
 * with its line. */
bool plan_read(const char *file, uint64_t seed, struct plan *plan);

/* Reads one point from text, such as what point_print has written. Faults go to `errors`. */
bool point_parse(const char *text, struct point *point, FILE *errors);

void point_print(const struct point *point, FILE *out);

uint64_t draw(uint64_t *state);

#endif
