/* Registered memory, and what the peer has of it. */
#ifndef MEMORY_H
#define MEMORY_H

#include "session.h"

/* Takes pages of page_size bytes, touches them all and registers size bytes on a port. All buffers of
 * a point may take half of the host's memory. */
bool buffer_make(struct session *s, struct buffer *buffer, size_t size, int port);
/* The same without registering. */
bool buffer_map(struct session *s, struct buffer *buffer, size_t size);
struct ibv_mr *buffer_register(struct session *s, const struct buffer *buffer, int port);
void buffer_free(struct buffer *buffer);

/* Tells the peer about our buffers and hears about as many of its. Both ends have posted their
 * receives when it returns. The client's keys are wrong if the point asks for that. */
bool exchange_targets(struct session *s, const struct buffer *mine, int count,
                      struct target *theirs);

#endif
