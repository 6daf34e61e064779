/* The options of a point and the values that they may have. */
#ifndef KEYS_H
#define KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "faults.h"

/* As `hcasim bench` names them, and `fault`: what to do wrong on purpose. */
enum key {
    SIZE, QPS, WINDOW, PORTS, MODE, INLINE, OP, THRESHOLD, REUSE, BUFFERS, PAGE_SIZE, PATTERN, MTU,
    VERB, FAULT, ITERS, WARMUP, KEYS
};
enum mode { SINGLE, STRIPING, BINDING };
enum op { FETCH_ADD, CMP_SWAP };
enum pattern { CYCLIC, RANDOM, ZIPF };
enum verb { WRITES, SENDS, READS };
enum fault { NO_FAULT, WRONG_RKEY, WRONG_LKEY, WRONG_SIZE, WRONG_QP };

enum { MAX_PORTS = 2, LONGEST_LIST = 64 };

struct list {
    int64_t value[LONGEST_LIST];
    size_t count;
};

const char *key_name(enum key key);
int64_t key_preset(enum key key);

/* The word for a value, or NULL if the values are numbers. */
const char *key_word(enum key key, int64_t value);

/* Reads "8,64,4K" or "4..1M", which doubles from one end to the other. Cuts the text up. */
bool list_read(enum key key, char *text, struct list *list, struct faults *faults);

#endif
