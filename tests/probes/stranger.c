/* Asks a listener of the connection manager for connections that it does not expect, one after the
 * other, and prints what comes of each. */
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

enum { RESOLVE_MS = 10000 };

static const struct {
    const char *name, *data;
    uint8_t length;
} REQUESTS[] = {{"silent", NULL, 0},
                {"short", "\0\0\0", 4},
                {"other", "stranger", 8},
                {"unknown lane", "\0\0\0\7hcas", 8},
                {"negative lane", "\377\377\377\377hcas", 8}};

static int ask(const struct addrinfo *there, const char *data, uint8_t length)
{
    struct rdma_cm_id *id;
    struct rdma_conn_param request = {.private_data = data,
                                      .private_data_len = length,
                                      .qp_num = 100,
                                      .retry_count = 1};
    /* Without a channel each call waits for its event. */
    if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
        return errno;
    int error = 0;
    if (rdma_resolve_addr(id, NULL, there->ai_addr, RESOLVE_MS) ||
        rdma_resolve_route(id, RESOLVE_MS) || rdma_connect(id, &request))
        error = errno;
    rdma_destroy_id(id);
    return error;
}

int main(int count, char **words)
{
    struct addrinfo *there;
    if (count != 3 || getaddrinfo(words[1], words[2], NULL, &there))
        return 2;
    for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++)
        printf("%s: %s\n", REQUESTS[i].name,
               strerror(ask(there, REQUESTS[i].data, REQUESTS[i].length)));
    freeaddrinfo(there);
    return 0;
}
