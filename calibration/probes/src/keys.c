#include "keys.h"

#include <string.h>

#include "number.h"

enum kind { NUMBER, FLAG, WORD };

struct key_info {
    const char *name;
    enum kind kind;
    int64_t least, most, preset;
    const char *words[6];
};

static const struct key_info INFO[KEYS] = {
    [SIZE] = {"size", NUMBER, 1, 1 << 30, 8, {0}},
    [QPS] = {"qps", NUMBER, 1, 65536, 1, {0}},
    [WINDOW] = {"window", NUMBER, 1, 8192, 64, {0}},
    [PORTS] = {"ports", NUMBER, 1, MAX_PORTS, 1, {0}},
    [MODE] = {"mode", WORD, 0, 0, SINGLE, {"single", "striping", "binding"}},
    [INLINE] = {"inline", FLAG, 0, 1, 0, {"no", "yes"}},
    [OP] = {"op", WORD, 0, 0, FETCH_ADD, {"fetch_add", "cmp_swap"}},
    [THRESHOLD] = {"threshold", NUMBER, 0, 1 << 30, 8192, {0}},
    [REUSE] = {"reuse", NUMBER, 0, 100, 100, {0}},
    [BUFFERS] = {"buffers", NUMBER, 1, 1 << 20, 1, {0}},
    [PAGE_SIZE] = {"page_size", NUMBER, 4096, 1 << 30, 4096, {0}},
    [PATTERN] = {"pattern", WORD, 0, 0, CYCLIC, {"cyclic", "random", "zipf"}},
    [MTU] = {"mtu", NUMBER, 0, 4096, 0, {0}},
    [VERB] = {"verb", WORD, 0, 0, WRITES, {"write", "send", "read"}},
    [FAULT] = {"fault", WORD, 0, 0, NO_FAULT, {"none", "rkey", "lkey", "size", "qp"}},
    [ITERS] = {"iters", NUMBER, 1, 10000000, 0, {0}},
    [WARMUP] = {"warmup", NUMBER, 0, 10000000, 0, {0}},
};

const char *key_name(enum key key)
{
    return INFO[key].name;
}

int64_t key_preset(enum key key)
{
    return INFO[key].preset;
}

const char *key_word(enum key key, int64_t value)
{
    return INFO[key].kind == NUMBER ? NULL : INFO[key].words[value];
}

static bool read_number(const char *text, int64_t *number)
{
    const char *rest;
    if (!read_digits(text, &rest, number))
        return false;
    int shift = *rest == 'K' ? 10 : *rest == 'M' ? 20 : *rest == 'G' ? 30 : 0;
    if (rest[shift > 0] || *number > INT64_MAX >> shift)
        return false;
    *number <<= shift;
    return true;
}

/* Reads one value; false if it is not allowed. */
static bool read_value(enum key key, const char *text, int64_t *value)
{
    const struct key_info *info = &INFO[key];
    if (info->kind == NUMBER)
        return read_number(text, value) && *value >= info->least && *value <= info->most;
    for (int64_t i = 0; info->words[i]; i++)
        if (strcmp(info->words[i], text) == 0) {
            *value = i;
            return true;
        }
    if (info->kind == FLAG && (!strcmp(text, "true") || !strcmp(text, "false"))) {
        *value = *text == 't';
        return true;
    }
    return false;
}

static bool refuse(enum key key, const char *found, struct faults *faults)
{
    const struct key_info *info = &INFO[key];
    if (!*found)
        found = "no value";
    if (info->kind != NUMBER)
        return fault_word(faults, info->name, found, info->words);
    char text[SHORT_WORD];
    return fault(faults, "%s: found %s; allowed: %lld to %lld", info->name,
                 shortened(found, text), (long long)info->least, (long long)info->most);
}

bool list_read(enum key key, char *text, struct list *list, struct faults *faults)
{
    list->count = 0;
    /* strtok would take "8,,16" for "8,16". */
    for (char *word; (word = strsep(&text, ","));) {
        char *dots = INFO[key].kind == NUMBER ? strstr(word, "..") : NULL;
        int64_t first, last;
        if (dots)
            *dots = '\0';
        if (!read_value(key, word, &first))
            return refuse(key, word, faults);
        last = first;
        if (dots && (!read_value(key, dots + 2, &last) || last < first || first <= 0))
            return refuse(key, dots + 2, faults);
        do {
            if (list->count == LONGEST_LIST)
                return fault(faults, "%s: found more than %d values", INFO[key].name,
                             LONGEST_LIST);
            list->value[list->count++] = first;
            first *= 2;
        } while (dots && first <= last);
    }
    return true;
}
