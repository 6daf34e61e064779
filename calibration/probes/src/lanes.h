/* Queue pairs, connected by the connection manager or by hand. */
#ifndef LANES_H
#define LANES_H

#include "session.h"

/* What the queue pairs of a point need. */
struct need {
    int lanes;
    int sends, receives; /* that are posted at once on one queue pair */
    int completions;     /* that one queue holds */
};

/* Makes protection domains and completion queues, a set for each port. */
bool lanes_prepare(struct session *s, const struct need *need);

/* Makes the queue pairs and connects them: lane i with the peer's lane i, or, if both ends are
 * here, with lane i + lanes / 2. port_of gives each lane its port, counted from 0. */
bool lanes_connect(struct session *s, const struct need *need,
                   int (*port_of)(const struct session *s, int lane));

bool connect_by_manager(struct session *s, struct ibv_qp_init_attr attr);
bool connect_by_hand(struct session *s, struct ibv_qp_init_attr attr);

/* Says why a queue pair could not be made, and what was asked for. */
bool fail_queue_pair(struct session *s, const char *call, const struct ibv_qp_cap *cap);

/* Reads and atomics under way at once that both ends can take. */
uint8_t reads_at_once(const struct port *port);

#endif
