/* A point from beginning to end, as the client and as the server see it. */
#ifndef PEERS_H
#define PEERS_H

#include "session.h"

#define DEFAULT_SERVICE "18590"

/* Runs one point as the client. `met` tells whether the server has agreed to it. The session has to
 * be closed, whatever comes of it. */
bool run_client(struct session *s, const char *host, const char *service, bool *met);

struct server {
    const char *address; /* to listen on, or NULL */
    const char *service;
    int64_t allowed_ns;  /* the longest deadline of a point that a client may set */
    struct port *ports;  /* none: the one that the client's connection comes to */
    int port_count;
};

/* Answers clients, one after the other, until a signal comes. */
bool serve(const struct server *server, struct failure *failure);

#endif
