/* The device of the connection manager, /dev/infiniband/rdma_cm, which librdmacm opens and writes to.
 *
 * Its descriptor is that of a pipe, which can be read while there are events.
 */
#ifndef HCASIM_RDMACM_H
#define HCASIM_RDMACM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether open() is given the path of the device, and what it is to do then. */
bool rdmacm_is(const char *path);
int rdmacm_open(int flags);

/* Whether a descriptor is one of these; what write() and close() are to do with it. */
bool rdmacm_owns(int descriptor);
ssize_t rdmacm_write(int descriptor, const void *command, size_t size);
int rdmacm_close(int descriptor);

#endif
