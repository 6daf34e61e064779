#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 1000 };

void print_json(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            /* Whatever it was meant to be, the file stays valid. */
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    fputc('"', out);
}

/* Two digits tell ticks of less than 50 GHz apart. */
static void print_ns(FILE *out, double ns)
{
    char text[64];
    snprintf(text, sizeof text, "%.2f", ns);
    for (size_t end = strlen(text) - 1; text[end] == '0' || text[end] == '.'; end--) {
        bool dot = text[end] == '.';
        text[end] = '\0';
        if (dot)
            break;
    }
    fputs(text, out);
}

static void print_what(FILE *out, const char *record, const struct point *point)
{
    const char *comma = "";
    fprintf(out, "{\"record\": \"%s\", \"workload\": \"%s\", \"options\": {", record,
            point->probe->name);
    for (enum key key = 0; key < KEYS; key++) {
        const char *word = word_of(point, key);
        if (!has_key(point->probe, key) || !is_said(point, key))
            continue;
        fprintf(out, "%s\"%s\": ", comma, key_name(key));
        if (key == INLINE)
            fputs(point->value[key] ? "true" : "false", out);
        else if (word)
            print_json(out, word);
        else
            fprintf(out, "%lld", (long long)point->value[key]);
        comma = ", ";
    }
    fputs("}", out);
}

static int compare_ticks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print_samples(FILE *out, const struct series *series, double scale)
{
    fputs("\"samples\": [", out);
    for (size_t i = 0; i < series->count; i++) {
        if (i)
            fputs(", ", out);
        print_ns(out, (double)series->ticks[i] * scale);
    }
    fputs("]", out);
}

/* Sorts the times. */
static void print_histogram(FILE *out, const struct series *series, double scale)
{
    qsort(series->ticks, series->count, sizeof *series->ticks, compare_ticks);
    fputs("\"histogram\": [", out);
    for (size_t i = 0, next; i < series->count; i = next) {
        for (next = i + 1; next < series->count && series->ticks[next] == series->ticks[i]; next++)
            ;
        fputs(i ? ", [" : "[", out);
        print_ns(out, (double)series->ticks[i] * scale);
        fprintf(out, ", %zu]", next - i);
    }
    fputs("]", out);
}

static void print_times(FILE *out, const struct series *series, const char *quantity, bool raw)
{
    double scale = the_clock.ns_per_tick * series->share;
    fprintf(out, "{\"quantity\": \"%s\", \"unit\": \"ns\", ", quantity);
    if (series->name[0])
        fprintf(out, "\"name\": \"%s\", ", series->name);
    if (raw || series->count <= FEW)
        print_samples(out, series, scale);
    else
        print_histogram(out, series, scale);
    fputs("}", out);
}

/* A time shorter than a tick counts as one: no rate is infinite. */
static double at_least_one(uint64_t ticks)
{
    return ticks ? (double)ticks : 1;
}

/* What moved in each window, per microsecond of it. The mean is that of the whole run. Sorts the
 * times. */
static void print_rates(FILE *out, const struct series *series, double amount,
                        const char *quantity, const char *unit)
{
    size_t count = series->count;
    double scale = amount * 1e3 / the_clock.ns_per_tick, sum = 0, squares = 0;
    qsort(series->ticks, count, sizeof *series->ticks, compare_ticks);
    for (size_t i = 0; i < count; i++)
        sum += at_least_one(series->ticks[i]);
    double mean = scale * (double)count / sum;
    for (size_t i = 0; i < count; i++)
        squares += pow(scale / at_least_one(series->ticks[i]) - mean, 2);
    double middle = (at_least_one(series->ticks[(count - 1) / 2]) +
                     at_least_one(series->ticks[count / 2])) /
                    2;
    fprintf(out,
            "{\"quantity\": \"%s\", \"unit\": \"%s\", \"statistics\": {\"count\": %zu, "
            "\"minimum\": %.9g, \"median\": %.9g, \"mean\": %.9g, \"maximum\": %.9g, "
            "\"deviation\": %.9g}}",
            quantity, unit, count, scale / at_least_one(series->ticks[count - 1]), scale / middle,
            mean, scale / at_least_one(series->ticks[0]),
            count > 1 ? sqrt(squares / (double)(count - 1)) : 0.0);
}

void trace_point(FILE *out, const struct session *s, bool raw)
{
    print_what(out, "point", &s->point);
    fputs(", \"measured\": [", out);
    if (s->bytes > 0) {
        char *text = NULL;
        size_t length = 0;
        FILE *times = open_memstream(&text, &length);
        if (times) {
            /* Before the others sort them. */
            print_times(times, &s->series[0], "time", raw);
            fclose(times);
        }
        print_rates(out, &s->series[0], s->bytes, "bandwidth", "MB/s");
        fputs(", ", out);
        print_rates(out, &s->series[0], s->messages, "rate", "M/s");
        if (times)
            fprintf(out, ", %s", text);
        free(text);
    } else {
        for (int i = 0; i < s->series_count; i++) {
            if (i)
                fputs(", ", out);
            print_times(out, &s->series[i], s->is_time ? "time" : "latency", raw);
        }
    }
    fputs("]}\n", out);
}

void trace_failure(FILE *out, const struct point *point, const char *error)
{
    print_what(out, "failure", point);
    fputs(", \"error\": ", out);
    print_json(out, error);
    fputs("}\n", out);
}

void trace_end(FILE *out, size_t points, bool complete, const char *reason)
{
    fprintf(out, "{\"record\": \"end\", \"points\": %zu, \"complete\": %s", points,
            complete ? "true" : "false");
    if (reason[0]) {
        fputs(", \"reason\": ", out);
        print_json(out, reason);
    }
    fputs("}\n", out);
}
