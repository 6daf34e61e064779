#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"

enum { LONGEST_LIST = 64, LONGEST_LINE = 1024, MOST_POINTS = 100000 };

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
    [FAULT] = {"fault", WORD, 0, 0, NO_FAULT, {"none", "rkey", "lkey", "size", "qp"}},
    [ITERS] = {"iters", NUMBER, 1, 10000000, 0, {0}},
    [WARMUP] = {"warmup", NUMBER, 0, 10000000, 0, {0}},
};

bool has_key(const struct probe *probe, enum key key)
{
    return probe->keys & 1u << key;
}

const char *key_name(enum key key)
{
    return INFO[key].name;
}

const char *word_of(const struct point *point, enum key key)
{
    return INFO[key].kind == NUMBER ? NULL : INFO[key].words[point->value[key]];
}

const struct probe *find_probe(const char *name)
{
    for (const struct probe *probe = PROBES; probe->name; probe++)
        if (strcmp(probe->name, name) == 0)
            return probe;
    return NULL;
}

uint64_t draw(uint64_t *state)
{
    /* SplitMix64: both ends and every machine draw the same. */
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Edits that turn one word into another. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], length = strlen(b);
    if (length >= 63)
        return length;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t best = corner + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[length];
}

/* Prints what is allowed and, if one of it is near, what was probably meant. */
static void print_allowed(FILE *errors, const char *found, const char *const *names)
{
    const char *nearest = NULL;
    size_t least = strlen(found) / 2 + 1;
    fputs("; allowed: ", errors);
    for (size_t i = 0; names[i]; i++) {
        fprintf(errors, "%s%s", i ? ", " : "", names[i]);
        size_t now = distance(found, names[i]);
        if (now < least) {
            least = now;
            nearest = names[i];
        }
    }
    if (nearest)
        fprintf(errors, "; did you mean %s?", nearest);
    fputc('\n', errors);
}

static bool read_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    long long value = strtoll(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (errno || end[shift > 0] || value > INT64_MAX >> shift)
        return false;
    *number = (int64_t)value << shift;
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

struct list {
    int64_t value[LONGEST_LIST];
    size_t count;
};

/* Reads "8,64,4K" or "4..1M", which doubles from one end to the other. */
static bool read_list(enum key key, char *text, struct list *list, const char *where, FILE *errors)
{
    list->count = 0;
    for (char *save, *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char *dots = INFO[key].kind == NUMBER ? strstr(word, "..") : NULL;
        int64_t first, last;
        if (dots)
            *dots = '\0';
        bool good = read_value(key, word, &first);
        const char *bad = word;
        last = first;
        if (good && dots) {
            good = read_value(key, dots + 2, &last) && last >= first && first > 0;
            bad = dots + 2;
        }
        if (!good) {
            fprintf(errors, "%s%s: found %s", where, INFO[key].name, bad);
            if (INFO[key].kind == NUMBER)
                fprintf(errors, "; allowed: %lld to %lld\n", (long long)INFO[key].least,
                        (long long)INFO[key].most);
            else
                print_allowed(errors, bad, INFO[key].words);
            return false;
        }
        do {
            if (list->count == LONGEST_LIST) {
                fprintf(errors, "%s%s: found more than %d values\n", where, INFO[key].name,
                        LONGEST_LIST);
                return false;
            }
            list->value[list->count++] = first;
            first *= 2;
        } while (dots && first <= last);
    }
    if (!list->count)
        fprintf(errors, "%s%s: found no value\n", where, INFO[key].name);
    return list->count > 0;
}

static bool is_power_of_two(int64_t value)
{
    return (value & (value - 1)) == 0;
}

/* Whether the options of a point fit each other. */
static bool check_point(const struct point *point, const char *where, FILE *errors)
{
    const int64_t *value = point->value;
    const char *fault = NULL;
    if (value[MTU] && (value[MTU] < 256 || !is_power_of_two(value[MTU])))
        fault = "mtu: allowed: 256, 512, 1024, 2048, 4096";
    else if (!is_power_of_two(value[PAGE_SIZE]))
        fault = "page_size: allowed: powers of two from 4096";
    else if (value[REUSE] < 100 && value[BUFFERS] < 2)
        fault = "buffers: with reuse below 100, say how many others there are: at least 2";
    else if (value[OP] != FETCH_ADD && value[SIZE] != 8)
        fault = "size: atomic operations have 8 bytes";
    else if (strcmp(point->probe->name, "atomic_lat") == 0 && value[SIZE] != 8)
        fault = "size: atomic operations have 8 bytes";
    else if (value[MODE] == SINGLE && value[PORTS] > 1)
        fault = "mode: more than one port needs striping or binding";
    else if (value[REUSE] < 100 && value[MODE] != SINGLE)
        fault = "reuse: below 100 only with mode=single";
    else if (value[REUSE] < 100 && value[WINDOW] < 2 * value[QPS])
        fault = "window: with reuse below 100, at least twice qps";
    else if (value[FAULT] == WRONG_LKEY && value[INLINE])
        fault = "fault: inline messages need no lkey";
    if (fault)
        fprintf(errors, "%s%s\n", where, fault);
    return !fault;
}

typedef bool (*take_point)(void *into, const struct point *point);

/* Reads a line and hands over each point that it stands for. */
static bool read_line(char *line, const char *where, FILE *errors, take_point take, void *into)
{
    struct list lists[KEYS];
    struct point point = {0};
    bool given[KEYS] = {false}, good = true;
    char *save, *word = strtok_r(line, " \t\r\n", &save);
    point.probe = find_probe(word);
    if (!point.probe) {
        const char *names[32];
        size_t count = 0;
        for (const struct probe *probe = PROBES; probe->name; probe++)
            names[count++] = probe->name;
        names[count] = NULL;
        fprintf(errors, "%sworkload: found %s", where, word);
        print_allowed(errors, word, names);
        return false;
    }
    while ((word = strtok_r(NULL, " \t\r\n", &save))) {
        char *value = strchr(word, '=');
        const char *names[KEYS + 1];
        size_t count = 0;
        enum key found = KEYS;
        if (value)
            *value++ = '\0';
        for (enum key key = 0; key < KEYS; key++)
            if (has_key(point.probe, key)) {
                names[count++] = INFO[key].name;
                if (strcmp(INFO[key].name, word) == 0)
                    found = key;
            }
        names[count] = NULL;
        if (found == KEYS) {
            fprintf(errors, "%s%s: found %s", where, point.probe->name, word);
            print_allowed(errors, word, names);
            good = false;
        } else if (!value || given[found]) {
            fprintf(errors, "%s%s: %s\n", where, word, value ? "found twice" : "found no value");
            good = false;
        } else {
            given[found] = true;
            good = read_list(found, value, &lists[found], where, errors) && good;
        }
    }
    if (!good)
        return false;
    size_t turn[KEYS] = {0}, combinations = 1;
    for (enum key key = 0; key < KEYS; key++) {
        if (!given[key]) {
            lists[key].count = 1;
            lists[key].value[0] = key == SIZE     ? point.probe->size
                                  : key == ITERS  ? point.probe->iters
                                  : key == WARMUP ? point.probe->warmup
                                                  : INFO[key].preset;
        }
        combinations *= lists[key].count;
        if (combinations > MOST_POINTS) {
            fprintf(errors, "%sfound more than %d points\n", where, MOST_POINTS);
            return false;
        }
    }
    for (size_t i = 0; i < combinations; i++) {
        for (enum key key = 0; key < KEYS; key++)
            point.value[key] = lists[key].value[turn[key]];
        if (!check_point(&point, where, errors) || !take(into, &point))
            return false;
        for (enum key key = KEYS; key-- > 0;) {
            if (++turn[key] < lists[key].count)
                break;
            turn[key] = 0;
        }
    }
    return true;
}

static bool take_one(void *into, const struct point *point)
{
    *(struct point *)into = *point;
    return true;
}

bool point_parse(const char *text, struct point *point, FILE *errors)
{
    char line[LONGEST_LINE];
    snprintf(line, sizeof line, "%s", text);
    if (line[strspn(line, " \t\r\n")] == '\0') {
        fputs("found no workload\n", errors);
        return false;
    }
    return read_line(line, "", errors, take_one, point);
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

static bool append(void *into, const struct point *point)
{
    struct plan *plan = into;
    /* Grow at powers of two. */
    if (is_power_of_two((int64_t)plan->count)) {
        size_t room = plan->count ? 2 * plan->count : 1;
        struct point *more = realloc(plan->points, room * sizeof *more);
        if (!more)
            return false;
        plan->points = more;
    }
    plan->points[plan->count++] = *point;
    return true;
}

static char *read_file(const char *file, size_t *length)
{
    FILE *in = strcmp(file, "-") ? fopen(file, "rb") : stdin;
    char *text = NULL;
    size_t room = 0;
    *length = 0;
    if (!in)
        return NULL;
    do {
        if (room < *length + 4096) {
            room = 2 * room + 8192;
            char *more = realloc(text, room);
            if (!more)
                break;
            text = more;
        }
        *length += fread(text + *length, 1, 4095, in);
    } while (!feof(in) && !ferror(in));
    bool bad = ferror(in) || !feof(in);
    if (in != stdin)
        fclose(in);
    if (bad) {
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

static void shuffle(struct plan *plan)
{
    uint64_t state = plan->seed;
    for (size_t i = plan->count; i > 1; i--) {
        size_t other = draw(&state) % i;
        struct point kept = plan->points[i - 1];
        plan->points[i - 1] = plan->points[other];
        plan->points[other] = kept;
    }
}

bool plan_read(const char *file, uint64_t seed, struct plan *plan)
{
    size_t length;
    bool good = true;
    char *text = read_file(file, &length);
    *plan = (struct plan){.seed = seed};
    if (!text) {
        fprintf(stderr, "%s: cannot be read: %s\n", file, strerror(errno));
        return false;
    }
    sha256_hex(text, length, plan->sha256);
    if (strlen(text) != length) {
        fprintf(stderr, "%s: found binary data; allowed: text\n", file);
        good = false;
    }
    char *rest = good ? text : NULL;
    for (int number = 1; rest; number++) {
        char *line = rest, where[300];
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        line[strcspn(line, "#")] = '\0';
        snprintf(where, sizeof where, "%.250s:%d: ", file, number);
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        if (!read_line(line, where, stderr, append, plan))
            good = false;
    }
    if (good && !plan->count) {
        fprintf(stderr, "%s: found no point; allowed: lines such as write_lat size=8\n", file);
        good = false;
    }
    free(text);
    if (!good) {
        free(plan->points);
        plan->points = NULL;
    } else if (seed) {
        shuffle(plan);
    }
    return good;
}
