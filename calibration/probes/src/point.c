#include "point.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 1024, MOST_PROBES = 32 };
static const char BLANK[] = " \t\r\n";

bool has_key(const struct probe *probe, enum key key)
{
    return probe->keys & 1u << key;
}

const char *word_of(const struct point *point, enum key key)
{
    return key_word(key, point->value[key]);
}

bool is_said(const struct point *point, enum key key)
{
    return (key != MTU && key != FAULT) || point->value[key];
}

void point_print(const struct point *point, FILE *out)
{
    fputs(point->probe->name, out);
    for (enum key key = 0; key < KEYS; key++) {
        const char *word = word_of(point, key);
        if (!has_key(point->probe, key) || !is_said(point, key))
            continue;
        if (word)
            fprintf(out, " %s=%s", key_name(key), word);
        else
            fprintf(out, " %s=%lld", key_name(key), (long long)point->value[key]);
    }
}

static bool is_power_of_two(int64_t value)
{
    return (value & (value - 1)) == 0;
}

/* Whether the options of a point fit each other. */
static bool check_point(const struct point *point, struct faults *faults)
{
    const int64_t *value = point->value;
    const char *what = NULL;
    if (value[MTU] && (value[MTU] < 256 || !is_power_of_two(value[MTU])))
        what = "mtu: allowed: 256, 512, 1024, 2048, 4096";
    else if (!is_power_of_two(value[PAGE_SIZE]))
        what = "page_size: allowed: powers of two from 4096";
    else if (value[REUSE] < 100 && value[BUFFERS] < 2)
        what = "buffers: with reuse below 100, say how many others there are: at least 2";
    else if (value[OP] != FETCH_ADD && value[SIZE] != 8)
        what = "size: atomic operations have 8 bytes";
    else if (strcmp(point->probe->name, "atomic_lat") == 0 && value[SIZE] != 8)
        what = "size: atomic operations have 8 bytes";
    else if (value[MODE] == SINGLE && value[PORTS] > 1)
        what = "mode: more than one port needs striping or binding";
    else if (value[VERB] == READS && strcmp(point->probe->name, "window_bibw") == 0)
        what = "verb: only one side reads; allowed: write, send";
    else if (value[VERB] == READS && value[INLINE])
        what = "inline: a read has no message to put there";
    else if (value[VERB] != WRITES && value[MODE] == STRIPING)
        what = "mode: striping only with verb=write";
    else if (value[REUSE] < 100 && value[MODE] != SINGLE)
        what = "reuse: below 100 only with mode=single";
    else if (value[REUSE] < 100 && value[WINDOW] < 2 * value[QPS])
        what = "window: with reuse below 100, at least twice qps";
    else if (value[FAULT] == WRONG_LKEY && value[INLINE])
        what = "fault: inline messages need no lkey";
    return !what || fault(faults, "%s", what);
}

static const struct probe *read_probe(const char *word, struct faults *faults)
{
    const char *names[MOST_PROBES];
    size_t count = 0;
    for (const struct probe *probe = PROBES; probe->name; probe++) {
        if (strcmp(probe->name, word) == 0)
            return probe;
        names[count++] = probe->name;
    }
    names[count] = NULL;
    fault_word(faults, "workload", word, names);
    return NULL;
}

/* Reads "key=value,value". */
static bool read_option(const struct probe *probe, char *word, struct list *lists,
                        struct faults *faults)
{
    const char *names[KEYS + 1];
    size_t count = 0;
    enum key found = KEYS;
    char *value = strchr(word, '=');
    if (value)
        *value++ = '\0';
    for (enum key key = 0; key < KEYS; key++)
        if (has_key(probe, key)) {
            names[count++] = key_name(key);
            if (strcmp(key_name(key), word) == 0)
                found = key;
        }
    names[count] = NULL;
    if (found == KEYS)
        return fault_word(faults, probe->name, word, names);
    if (!value || lists[found].count)
        return fault(faults, "%s: %s", word, value ? "found twice" : "found no value");
    return list_read(found, value, &lists[found], faults);
}

static int64_t preset(const struct probe *probe, enum key key)
{
    return key == SIZE     ? probe->size
           : key == ITERS  ? probe->iters
           : key == WARMUP ? probe->warmup
                           : key_preset(key);
}

static bool append(struct points *points, const struct point *point)
{
    /* Grow at powers of two. */
    if (is_power_of_two((int64_t)points->count)) {
        size_t room = points->count ? 2 * points->count : 1;
        struct point *more = realloc(points->list, room * sizeof *more);
        if (!more)
            return false;
        points->list = more;
    }
    points->list[points->count++] = *point;
    return true;
}

/* Adds every combination of the values. */
static bool combine(const struct probe *probe, const struct list *lists, struct points *points,
                    struct faults *faults)
{
    struct point point = {.probe = probe};
    size_t turn[KEYS] = {0}, combinations = 1;
    for (enum key key = 0; key < KEYS; key++) {
        combinations *= lists[key].count;
        if (combinations > points->most - points->count) {
            points->full = true;
            return fault(faults, "points: found too many; allowed: at most %zu in all",
                         points->most);
        }
    }
    for (size_t i = 0; i < combinations; i++) {
        for (enum key key = 0; key < KEYS; key++)
            point.value[key] = lists[key].value[turn[key]];
        if (!check_point(&point, faults))
            return false;
        if (!append(points, &point))
            return fault(faults, "points: no memory for so many");
        for (enum key key = KEYS; key-- > 0;) {
            if (++turn[key] < lists[key].count)
                break;
            turn[key] = 0;
        }
    }
    return true;
}

bool points_read(char *line, struct points *points, struct faults *faults)
{
    struct list lists[KEYS];
    char *save, *word = strtok_r(line, BLANK, &save);
    const struct probe *probe = read_probe(word, faults);
    if (!probe)
        return false;
    for (enum key key = 0; key < KEYS; key++)
        lists[key].count = 0;
    bool good = true;
    while ((word = strtok_r(NULL, BLANK, &save)))
        good = read_option(probe, word, lists, faults) && good;
    /* Too many are said once. */
    if (!good || points->full)
        return false;
    for (enum key key = 0; key < KEYS; key++)
        if (!lists[key].count) {
            lists[key].count = 1;
            lists[key].value[0] = preset(probe, key);
        }
    return combine(probe, lists, points, faults);
}

bool point_parse(const char *text, struct point *point, FILE *errors)
{
    char line[LONGEST_LINE];
    struct faults faults = {.out = errors, .where = ""};
    struct points points = {.most = 1};
    snprintf(line, sizeof line, "%s", text);
    if (line[strspn(line, BLANK)] == '\0')
        return fault(&faults, "found no workload");
    bool good = points_read(line, &points, &faults);
    if (good)
        *point = points.list[0];
    free(points.list);
    return good;
}
