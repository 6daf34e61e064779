#include "number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool read_digits(const char *text, const char **rest, int64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    *rest = end;
    return !errno;
}

bool read_whole(const char *text, int64_t least, int64_t most, int64_t *number)
{
    const char *rest;
    return read_digits(text, &rest, number) && !*rest && *number >= least && *number <= most;
}

bool read_decimal(const char *text, double least, double most, double *number)
{
    char *end;
    /* strtod knows blanks, signs, infinity and hexadecimal numbers, too. */
    if (!*text || text[strspn(text, "0123456789.")])
        return false;
    *number = strtod(text, &end);
    return !*end && *number >= least && *number <= most;
}
