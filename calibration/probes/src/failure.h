/* What went wrong first, in words. */
#ifndef FAILURE_H
#define FAILURE_H

#include <stdbool.h>

struct failure {
    char text[512];
};

/* Notes what went wrong, unless something has before. Returns false, so that callers can return it. */
__attribute__((format(printf, 2, 3))) bool fail(struct failure *failure, const char *format, ...);

/* The same for a call that has set errno. */
bool fail_errno(struct failure *failure, const char *call);

#endif
