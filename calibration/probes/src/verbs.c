#include "verbs.h"

#include <errno.h>
#include <stdatomic.h>

static const char *const STATUS[] = {
    "IBV_WC_SUCCESS",           "IBV_WC_LOC_LEN_ERR",      "IBV_WC_LOC_QP_OP_ERR",
    "IBV_WC_LOC_EEC_OP_ERR",    "IBV_WC_LOC_PROT_ERR",     "IBV_WC_WR_FLUSH_ERR",
    "IBV_WC_MW_BIND_ERR",       "IBV_WC_BAD_RESP_ERR",     "IBV_WC_LOC_ACCESS_ERR",
    "IBV_WC_REM_INV_REQ_ERR",   "IBV_WC_REM_ACCESS_ERR",   "IBV_WC_REM_OP_ERR",
    "IBV_WC_RETRY_EXC_ERR",     "IBV_WC_RNR_RETRY_EXC_ERR", "IBV_WC_LOC_RDD_VIOL_ERR",
    "IBV_WC_REM_INV_RD_REQ_ERR", "IBV_WC_REM_ABORT_ERR",   "IBV_WC_INV_EECN_ERR",
    "IBV_WC_INV_EEC_STATE_ERR", "IBV_WC_FATAL_ERR",        "IBV_WC_RESP_TIMEOUT_ERR",
    "IBV_WC_GENERAL_ERR",       "IBV_WC_TM_ERR",           "IBV_WC_TM_RNDV_INCOMPLETE",
};

bool post_message(struct session *s, int lane, const struct message *message)
{
    struct ibv_sge sge = {
        .addr = (uint64_t)(uintptr_t)message->from->data + message->offset,
        .length = (uint32_t)message->size,
        .lkey = message->from->mr->lkey,
    };
    if (get(s, FAULT) == WRONG_LKEY && !s->server)
        sge.lkey ^= 0x80;
    struct ibv_send_wr *bad, wr = {
        .wr_id = (uint64_t)lane << 1,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = message->opcode,
        .send_flags = IBV_SEND_SIGNALED,
    };
    if (message->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
        message->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        wr.wr.atomic.remote_addr = message->remote;
        wr.wr.atomic.rkey = message->rkey;
        wr.wr.atomic.compare_add = 1;
        wr.wr.atomic.swap = 1;
    } else {
        wr.wr.rdma.remote_addr = message->remote;
        wr.wr.rdma.rkey = message->rkey;
    }
    if (get(s, INLINE) && message->size <= (size_t)get(s, SIZE) &&
        (message->opcode == IBV_WR_SEND || message->opcode == IBV_WR_RDMA_WRITE))
        wr.send_flags |= IBV_SEND_INLINE;
    errno = ibv_post_send(s->lanes[lane].qp, &wr, &bad);
    return !errno || fail_errno(&s->failure, "ibv_post_send");
}

bool post_receive(struct session *s, int lane, const struct buffer *into, size_t size)
{
    struct ibv_sge sge = {
        .addr = (uint64_t)(uintptr_t)into->data,
        .length = (uint32_t)size,
        .lkey = into->mr->lkey,
    };
    struct ibv_recv_wr *bad, wr = {
        .wr_id = (uint64_t)lane << 1 | RECEIVED, .sg_list = &sge, .num_sge = 1};
    errno = ibv_post_recv(s->lanes[lane].qp, &wr, &bad);
    return !errno || fail_errno(&s->failure, "ibv_post_recv");
}

int poll_port(struct session *s, int port, struct ibv_wc *wc, int most)
{
    int count = ibv_poll_cq(s->cq[port], most, wc);
    if (count < 0)
        fail(&s->failure, "ibv_poll_cq failed");
    for (int i = 0; i < count; i++) {
        unsigned status = wc[i].status;
        if (status == IBV_WC_SUCCESS)
            continue;
        fail(&s->failure, "%s: %s",
             status < sizeof STATUS / sizeof *STATUS ? STATUS[status] : "unknown status",
             ibv_wc_status_str(wc[i].status));
        return -1;
    }
    return count;
}

bool await_completion(struct session *s, int port, struct ibv_wc *wc)
{
    int count;
    while ((count = poll_port(s, port, wc, 1)) == 0)
        if (!spin(s))
            return false;
    return count > 0;
}

bool await_byte(struct session *s, const volatile uint8_t *byte, uint8_t value)
{
    while (*byte != value)
        if (!spin(s))
            return false;
    /* What else has come is read after the byte that announces it. */
    atomic_thread_fence(memory_order_acquire);
    return true;
}
