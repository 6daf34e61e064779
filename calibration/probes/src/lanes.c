#include "lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_READS = 16 };

uint8_t reads_at_once(const struct port *port)
{
    int most = port->device.max_qp_rd_atom;
    if (most > port->device.max_qp_init_rd_atom)
        most = port->device.max_qp_init_rd_atom;
    return (uint8_t)(most > MOST_READS ? MOST_READS : most < 1 ? 1 : most);
}

bool fail_queue_pair(struct session *s, const char *call, const struct ibv_qp_cap *cap)
{
    return fail(&s->failure, "%s with %u sends, %u receives, %u bytes inline: %s", call,
                cap->max_send_wr, cap->max_recv_wr, cap->max_inline_data, strerror(errno));
}

bool lanes_prepare(struct session *s, const struct need *need)
{
    for (int i = 0; i < s->port_count; i++) {
        s->pd[i] = ibv_alloc_pd(s->ports[i].context);
        if (!s->pd[i])
            return fail_errno(&s->failure, "ibv_alloc_pd");
        s->cq[i] = ibv_create_cq(s->ports[i].context, need->completions, NULL, NULL, 0);
        if (!s->cq[i])
            return fail(&s->failure, "ibv_create_cq of %d entries: %s", need->completions,
                        strerror(errno));
    }
    s->lanes = calloc((size_t)need->lanes, sizeof *s->lanes);
    if (!s->lanes)
        return fail_errno(&s->failure, "memory for the queue pairs");
    s->lane_count = need->lanes;
    return true;
}

bool lanes_connect(struct session *s, const struct need *need,
                   int (*port_of)(const struct session *s, int lane))
{
    for (int i = 0; i < s->lane_count; i++)
        s->lanes[i].port = port_of ? port_of(s, i) : 0;
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = (uint32_t)need->sends,
                .max_recv_wr = (uint32_t)need->receives,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = get(s, INLINE) ? (uint32_t)get(s, SIZE) : 0},
    };
    return s->by_hand ? connect_by_hand(s, attr) : connect_by_manager(s, attr);
}
