/* Numbers in text, of which nothing is guessed. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads digits, without a sign or a blank before them; tells what follows them. */
bool read_digits(const char *text, const char **rest, int64_t *number);

/* Reads a whole number that nothing follows. */
bool read_whole(const char *text, int64_t least, int64_t most, int64_t *number);

/* The same with digits after a point. */
bool read_decimal(const char *text, double least, double most, double *number);

#endif
