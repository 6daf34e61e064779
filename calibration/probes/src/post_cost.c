/* post_cost: what the calls take that post work and poll for it.
 *
 * A call of ibv_post_send posts `window` writes that hang together, so that the slope over the
 * window is the cost of a work request and the rest that of the doorbell. The writes go to the
 * same process. */
#include <errno.h>
#include <stdlib.h>

#include "control.h"
#include "lanes.h"
#include "memory.h"
#include "probes.h"
#include "verbs.h"

static void chain(const struct session *s, struct ibv_send_wr *wrs, struct ibv_sge *sge,
                  const struct buffer *to)
{
    int64_t window = get(s, WINDOW);
    for (int64_t i = 0; i < window; i++)
        wrs[i] = (struct ibv_send_wr){
            .next = i + 1 < window ? &wrs[i + 1] : NULL,
            .sg_list = sge,
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_WRITE,
            .send_flags = IBV_SEND_SIGNALED | (get(s, INLINE) ? IBV_SEND_INLINE : 0),
            .wr.rdma = {.remote_addr = (uint64_t)(uintptr_t)to->data, .rkey = to->mr->rkey},
        };
}

static bool lap(struct session *s, struct ibv_send_wr *wrs, bool counts)
{
    struct ibv_send_wr *bad;
    struct ibv_wc wc;
    uint64_t begin = ticks();
    errno = ibv_post_send(s->lanes[0].qp, wrs, &bad);
    note_time(&s->series[0], counts && !errno, begin);
    if (errno)
        return fail_errno(&s->failure, "ibv_post_send");
    int64_t left = get(s, WINDOW);
    while (left) {
        begin = ticks();
        int count = poll_port(s, 0, &wc, 1);
        if (count > 0 && --left == 0)
            note_time(&s->series[1], counts, begin);
        /* After the time is taken: it looks at the clock and the peer now and then. */
        if (count < 0 || !spin(s))
            return false;
    }
    return true;
}

bool post_cost(struct session *s)
{
    int window = (int)get(s, WINDOW);
    struct need need = {.lanes = 2, .sends = window, .receives = 1, .completions = window + 1};
    struct buffer buffers[2] = {{0}, {0}};
    size_t size = (size_t)get(s, SIZE), count = (size_t)get(s, ITERS);
    struct ibv_send_wr *wrs = calloc((size_t)window, sizeof *wrs);
    bool good = wrs || fail_errno(&s->failure, "memory for the work requests");
    good = good && lanes_prepare(s, &need) && buffer_make(s, &buffers[0], size, 0) &&
           buffer_make(s, &buffers[1], size, 0) && lanes_connect(s, &need, NULL) &&
           new_series(s, "post_send", count, 1.0) && new_series(s, "poll_cq", count, 1.0);
    if (good) {
        struct ibv_sge sge = {.addr = (uint64_t)(uintptr_t)buffers[0].data,
                              .length = (uint32_t)size,
                              .lkey = buffers[0].mr->lkey};
        chain(s, wrs, &sge, &buffers[1]);
        int64_t laps = get(s, WARMUP) + get(s, ITERS);
        for (int64_t i = 0; good && i < laps; i++)
            good = lap(s, wrs, i >= get(s, WARMUP));
    }
    free(wrs);
    buffer_free(&buffers[0]);
    buffer_free(&buffers[1]);
    s->is_time = true;
    return good;
}
