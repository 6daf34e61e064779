/* loopback_lat: RDMA writes from one buffer to another of the same process, and back, over two
 * queue pairs of one port. Half of the time for both counts. */
#include "control.h"
#include "lanes.h"
#include "memory.h"
#include "probes.h"
#include "verbs.h"

static bool move(struct session *s, int lane, const struct buffer *from, const struct buffer *to)
{
    struct message message = {.opcode = IBV_WR_RDMA_WRITE,
                              .from = from,
                              .size = from->size,
                              .remote = (uint64_t)(uintptr_t)to->data,
                              .rkey = to->mr->rkey};
    struct ibv_wc wc;
    return post_message(s, lane, &message) && await_completion(s, 0, &wc);
}

static bool run(struct session *s, const struct buffer *buffers)
{
    struct series *series = new_series(s, "", (size_t)get(s, ITERS), 0.5);
    int64_t laps = get(s, WARMUP) + get(s, ITERS);
    int qps = (int)get(s, QPS), lane = 0;
    if (!series)
        return false;
    for (int64_t lap = 0; lap < laps; lap++) {
        uint64_t begin = ticks();
        if (!move(s, lane, &buffers[0], &buffers[1]) ||
            !move(s, lane + qps, &buffers[1], &buffers[0]))
            return false;
        note_time(series, lap >= get(s, WARMUP), begin);
        lane = lane + 1 == qps ? 0 : lane + 1;
    }
    return true;
}

bool loopback_lat(struct session *s)
{
    int lanes = 2 * (int)get(s, QPS);
    struct need need = {.lanes = lanes, .sends = 2, .receives = 1, .completions = lanes + 16};
    struct buffer buffers[2] = {{0}, {0}};
    size_t size = (size_t)get(s, SIZE);
    bool good = lanes_prepare(s, &need) && buffer_make(s, &buffers[0], size, 0) &&
                buffer_make(s, &buffers[1], size, 0) && lanes_connect(s, &need, NULL) &&
                run(s, buffers);
    buffer_free(&buffers[0]);
    buffer_free(&buffers[1]);
    return good;
}
