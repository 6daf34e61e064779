#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"

enum { MOST_POINTS = 100000, MOST_MIB = 16, CHUNK = 65536 };
static const size_t MOST_BYTES = (size_t)MOST_MIB << 20;

uint64_t draw(uint64_t *state)
{
    /* SplitMix64: both ends and every machine draw the same. */
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Reads to the end, or just beyond the limit. */
static char *read_stream(FILE *in, size_t *length)
{
    char *text = NULL;
    size_t room = 0;
    *length = 0;
    do {
        if (room < *length + CHUNK + 1) {
            room = 2 * room + CHUNK + 1;
            char *more = realloc(text, room);
            if (!more)
                goto failed;
            text = more;
        }
        *length += fread(text + *length, 1, CHUNK, in);
        if (ferror(in))
            goto failed;
    } while (!feof(in) && *length <= MOST_BYTES);
    text[*length] = '\0';
    return text;
failed:
    free(text);
    return NULL;
}

static char *read_file(const char *file, size_t *length)
{
    FILE *in = strcmp(file, "-") ? fopen(file, "rb") : stdin;
    char *text = in ? read_stream(in, length) : NULL;
    if (!text)
        fprintf(stderr, "%s: cannot be read: %s\n", file, strerror(errno));
    if (in && in != stdin)
        fclose(in);
    if (text && *length > MOST_BYTES) {
        fprintf(stderr, "%s: found more than %d MiB; allowed: at most %d MiB\n", file, MOST_MIB,
                MOST_MIB);
    } else if (text && strlen(text) != *length) {
        fprintf(stderr, "%s: found binary data; allowed: text\n", file);
    } else {
        return text;
    }
    free(text);
    return NULL;
}

/* Reads lines, which it cuts up. */
static bool read_lines(char *rest, const char *file, struct points *points)
{
    bool good = true;
    for (int number = 1; rest; number++) {
        char where[300], *line = strsep(&rest, "\n");
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        snprintf(where, sizeof where, "%.250s:%d: ", file, number);
        struct faults faults = {.out = stderr, .where = where};
        good = points_read(line, points, &faults) && good;
        faults_end(&faults);
    }
    if (good && !points->count) {
        fprintf(stderr, "%s: found no point; allowed: lines such as write_lat size=8\n", file);
        good = false;
    }
    return good;
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
    struct points points = {.most = MOST_POINTS};
    char *text = read_file(file, &length);
    *plan = (struct plan){.seed = seed};
    if (!text)
        return false;
    sha256_hex(text, length, plan->sha256);
    bool good = read_lines(text, file, &points);
    free(text);
    if (!good) {
        free(points.list);
        return false;
    }
    plan->points = points.list;
    plan->count = points.count;
    if (seed)
        shuffle(plan);
    return true;
}
