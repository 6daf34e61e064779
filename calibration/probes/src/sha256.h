/* SHA-256 as FIPS 180-4 defines it. */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>

void sha256_hex(const void *data, size_t length, char text[65]);

#endif
