/* Which queue pair is next. */
#ifndef TURNS_H
#define TURNS_H

#include "session.h"

struct turns {
    enum pattern pattern;
    int count, next;
    uint64_t state;
    double *shares; /* of Zipf's law, added up */
};

bool turns_start(struct session *s, struct turns *turns, int count);
int turns_next(struct turns *turns);
void turns_end(struct turns *turns);

#endif
