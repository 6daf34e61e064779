/* Writing a trace: a header, a line for each point, an end. Nothing is flushed. */
#ifndef TRACE_H
#define TRACE_H

#include <stdio.h>

#include "session.h"

/* What the header says that the ports do not. */
struct about {
    const char *command;
    const struct plan *plan; /* or NULL */
    bool by_hand;
    struct port *ports;
    int port_count;
};

void trace_header(FILE *out, const struct about *about);
/* Samples as they are if `raw` or if they are few; else a histogram of all values. */
void trace_point(FILE *out, const struct session *s, bool raw);
void trace_failure(FILE *out, const struct point *point, const char *error);
void trace_end(FILE *out, size_t points, bool complete, const char *reason);

/* JSON text in quotes. */
void print_json(FILE *out, const char *text);

#endif
