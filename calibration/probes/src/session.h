/* One point being measured: its ports, queue pairs and memory, its peer and its deadline. */
#ifndef SESSION_H
#define SESSION_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "failure.h"
#include "plan.h"

enum { ADDRESS_TEXT = 64, MOST_SERIES = 2 };

/* A port of an adapter. Both ports may belong to one device, or to two. */
struct port {
    struct ibv_context *context;
    struct rdma_cm_id *holder; /* keeps the context of a port that was found by its address */
    uint8_t number;
    int gid_index;
    char address[ADDRESS_TEXT]; /* empty if the port was found by its device's name */
    struct ibv_device_attr device;
    struct ibv_port_attr attr;
};

/* A queue pair. */
struct lane {
    int port;
    struct ibv_qp *qp;
    struct rdma_cm_id *id; /* NULL if connected by hand */
};

/* Registered memory, with its own pages. */
struct buffer {
    uint8_t *data;
    size_t size, mapped;
    struct ibv_mr *mr;
};

/* What the peer has registered. */
struct target {
    uint64_t address;
    uint32_t rkey;
};

/* Times of one kind, in ticks. */
struct series {
    const char *name;
    uint64_t *ticks;
    size_t count;
    double share; /* of each time that counts: 0.5 for half a round trip */
};

struct session {
    struct point point;
    bool server;      /* this end answers */
    bool alone;       /* both ends of each connection are here */
    bool by_hand;     /* no connection manager */
    int control;      /* socket to the peer, or -1 */
    char inbox[4096]; /* what has come from the peer and is not read yet */
    size_t inbox_used;
    int64_t deadline_ns, allowed_ns;
    struct port *ports;
    int port_count;
    struct ibv_pd *pd[MAX_PORTS];
    struct ibv_cq *cq[MAX_PORTS];
    struct lane *lanes;
    int lane_count;
    struct rdma_event_channel *channel; /* of the lanes' connections */
    size_t mapped;                      /* bytes of all buffers */
    struct series series[MOST_SERIES];
    int series_count;
    double bytes; /* of a sample, for a bandwidth; 0 if a sample is a latency or a time */
    double messages;
    bool is_time;
    struct failure failure;
};

extern volatile sig_atomic_t stopped_by; /* a signal, or 0 */
const char *signal_name(int number);

extern volatile sig_atomic_t look_due; /* ten milliseconds have passed since the last look */

/* Has looks be due from now on. */
void looks_begin(void);

/* False once a signal, the deadline or the peer ends the point. Looks at the clock, and at the peer
 * if that is due. */
bool session_goes_on(struct session *s);

/* The same for polling, which reads nothing but memory until a look is due. */
static inline bool spin(struct session *s)
{
    return !look_due || session_goes_on(s);
}

static inline int64_t get(const struct session *s, enum key key)
{
    return s->point.value[key];
}

/* Room for so many times. */
struct series *new_series(struct session *s, const char *name, size_t count, double share);

/* Notes the time since `begin`, if the warm-up is over. */
static inline void note_time(struct series *series, bool counts, uint64_t begin)
{
    if (counts)
        series->ticks[series->count++] = ticks() - begin;
}

/* Frees what a point has used. */
void session_close(struct session *s);

#endif
