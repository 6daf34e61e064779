/* scatter: a different buffer on each queue pair, back to back, and then all completions. */
#include <stdlib.h>

#include "control.h"
#include "lanes.h"
#include "memory.h"
#include "probes.h"
#include "verbs.h"

static bool run(struct session *s, struct buffer *sources)
{
    struct series *series = new_series(s, "", (size_t)get(s, ITERS), 1.0);
    int64_t laps = get(s, WARMUP) + get(s, ITERS);
    size_t size = (size_t)get(s, SIZE);
    struct target there;
    struct ibv_wc wc;
    if (!series)
        return false;
    for (int i = 0; i < s->lane_count; i++)
        if (!buffer_make(s, &sources[i], size, 0))
            return false;
    if (!exchange_targets(s, sources, 1, &there))
        return false;
    for (int64_t lap = 0; lap < laps; lap++) {
        uint64_t begin = ticks();
        for (int i = 0; i < s->lane_count; i++) {
            struct message message = {.opcode = IBV_WR_RDMA_WRITE,
                                      .from = &sources[i],
                                      .size = size,
                                      .remote = there.address + (uint64_t)i * size,
                                      .rkey = there.rkey};
            if (!post_message(s, i, &message))
                return false;
        }
        for (int i = 0; i < s->lane_count; i++)
            if (!await_completion(s, 0, &wc))
                return false;
        note_time(series, lap >= get(s, WARMUP), begin);
    }
    return true;
}

bool scatter(struct session *s)
{
    int qps = (int)get(s, QPS);
    struct need need = {.lanes = qps, .sends = 2, .receives = 1, .completions = qps + 1};
    struct buffer *buffers = calloc((size_t)qps, sizeof *buffers);
    struct target unused;
    bool good = buffers || fail_errno(&s->failure, "memory for the buffers");
    good = good && lanes_prepare(s, &need) && lanes_connect(s, &need, NULL);
    if (good && s->server)
        good = buffer_make(s, &buffers[0], (size_t)(qps * get(s, SIZE)), 0) &&
               exchange_targets(s, buffers, 1, &unused);
    else if (good)
        good = run(s, buffers);
    good = good && control_meet(s);
    for (int i = 0; buffers && i < qps; i++)
        buffer_free(&buffers[i]);
    free(buffers);
    return good;
}
