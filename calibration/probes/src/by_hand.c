/* Connecting queue pairs by exchanging their numbers over the control connection. */
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "lanes.h"
#include "ports.h"

/* Seven would mean for ever. */
enum { TIMEOUT = 14, RETRIES = 6, RNR_TIMER = 12, HOPS = 64 };

/* What an end of a connection tells the other. */
struct card {
    unsigned number, psn, lid;
    union ibv_gid gid;
};

static bool make_card(struct session *s, int lane, int gid_index, struct card *card)
{
    const struct port *port = &s->ports[s->lanes[lane].port];
    *card = (struct card){.number = s->lanes[lane].qp->qp_num,
                          .psn = (unsigned)system_ns() & 0xffffff,
                          .lid = port->attr.lid};
    if (gid_index >= 0 && ibv_query_gid(port->context, port->number, gid_index, &card->gid))
        return fail_errno(&s->failure, "ibv_query_gid");
    return true;
}

static bool say_card(struct session *s, const struct card *card)
{
    char gid[33];
    for (int i = 0; i < 16; i++)
        snprintf(gid + 2 * i, 3, "%02x", card->gid.raw[i]);
    return control_say(s, "queue-pair %u %u %u %s", card->number, card->psn, card->lid, gid);
}

static bool hear_card(struct session *s, struct card *card)
{
    char line[LONGEST_WORD], gid[33];
    if (!control_hear(s, line))
        return false;
    if (sscanf(line, "queue-pair %u %u %u %32s", &card->number, &card->psn, &card->lid, gid) != 4)
        return fail(&s->failure, "heard '%.100s' instead of a queue pair", line);
    for (int i = 0; i < 16; i++) {
        unsigned byte = 0;
        sscanf(gid + 2 * i, "%2x", &byte);
        card->gid.raw[i] = (uint8_t)byte;
    }
    return true;
}

static enum ibv_mtu path_mtu(const struct session *s, const struct port *port)
{
    enum ibv_mtu mtu = IBV_MTU_256;
    while (mtu < port->attr.active_mtu && (!get(s, MTU) || 128 << mtu < get(s, MTU)))
        mtu++;
    return mtu;
}

static bool bring_up(struct session *s, int lane, int gid_index, unsigned psn,
                     const struct card *peer)
{
    const struct port *port = &s->ports[s->lanes[lane].port];
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = port->number,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC,
    };
    if (ibv_modify_qp(s->lanes[lane].qp, &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        return fail_errno(&s->failure, "ibv_modify_qp to INIT");
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = path_mtu(s, port),
        .dest_qp_num = peer->number,
        .rq_psn = peer->psn,
        .max_dest_rd_atomic = reads_at_once(port),
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = {.dlid = (uint16_t)peer->lid, .port_num = port->number},
    };
    if (gid_index >= 0) {
        attr.ah_attr.is_global = 1;
        attr.ah_attr.grh = (struct ibv_global_route){
            .dgid = peer->gid, .sgid_index = (uint8_t)gid_index, .hop_limit = HOPS};
    }
    if (ibv_modify_qp(s->lanes[lane].qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                          IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
        return fail_errno(&s->failure, "ibv_modify_qp to RTR");
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .sq_psn = psn,
        .max_rd_atomic = reads_at_once(port),
    };
    return !ibv_modify_qp(s->lanes[lane].qp, &attr,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) ||
           fail_errno(&s->failure, "ibv_modify_qp to RTS");
}

static bool connect_lane(struct session *s, int lane, int partner)
{
    int gid_index = port_gid_index(&s->ports[s->lanes[lane].port]);
    struct card mine, theirs;
    if (!make_card(s, lane, gid_index, &mine))
        return false;
    if (s->alone) {
        if (!make_card(s, partner, gid_index, &theirs))
            return false;
        if (!bring_up(s, partner, gid_index, theirs.psn, &mine))
            return false;
    } else if (!say_card(s, &mine) || !hear_card(s, &theirs)) {
        return false;
    }
    if (get(s, FAULT) == WRONG_QP && !s->server)
        theirs.number ^= 0x800000;
    return bring_up(s, lane, gid_index, mine.psn, &theirs);
}

bool connect_by_hand(struct session *s, struct ibv_qp_init_attr attr)
{
    for (int i = 0; i < s->lane_count; i++) {
        struct lane *lane = &s->lanes[i];
        if (s->ports[lane->port].context->device->transport_type == IBV_TRANSPORT_IWARP)
            return fail(&s->failure, "iWARP needs the connection manager");
        struct ibv_qp_init_attr own = attr;
        own.send_cq = own.recv_cq = s->cq[lane->port];
        lane->qp = ibv_create_qp(s->pd[lane->port], &own);
        if (!lane->qp)
            return fail_queue_pair(s, "ibv_create_qp", &attr.cap);
    }
    int active = s->alone ? s->lane_count / 2 : s->lane_count;
    for (int i = 0; i < active; i++)
        if (!connect_lane(s, i, i + active))
            return false;
    return control_meet(s);
}
