/* write_lat, send_lat, read_lat, atomic_lat and qp_lat: one message at a time, there and back.
 *
 * Writes and sends count half a round trip, reads and atomics a whole one. */
#include <string.h>

#include "control.h"
#include "lanes.h"
#include "memory.h"
#include "probes.h"
#include "turns.h"
#include "verbs.h"

enum way { WRITE, SEND, FETCH };

/* One end of a ping-pong. */
struct end {
    struct session *s;
    struct buffer memory[2]; /* source and sink */
    struct target there[2];
    struct turns turns;
    enum way way;
    enum ibv_wr_opcode opcode;
};

static bool start(struct end *end)
{
    struct session *s = end->s;
    int qps = (int)get(s, QPS);
    size_t size = (size_t)get(s, SIZE);
    struct need need = {.lanes = qps, .sends = 8, .receives = 2, .completions = 4 * qps + 16};
    if (!lanes_prepare(s, &need) || !buffer_make(s, &end->memory[0], size, 0) ||
        !buffer_make(s, &end->memory[1], size, 0) || !lanes_connect(s, &need, NULL))
        return false;
    if (end->way == SEND)
        for (int i = 0; i < qps; i++)
            if (!post_receive(s, i, &end->memory[1], size))
                return false;
    return turns_start(s, &end->turns, qps) && exchange_targets(s, end->memory, 2, end->there);
}

static bool send_one(struct end *end, int lane)
{
    /* Reads and atomics fetch from the peer's source. */
    const struct target *there = &end->there[end->way == FETCH ? 0 : 1];
    struct message message = {.opcode = end->opcode,
                              .from = &end->memory[end->way == FETCH ? 1 : 0],
                              .size = (size_t)get(end->s, SIZE),
                              .remote = there->address,
                              .rkey = there->rkey};
    struct ibv_wc wc;
    return post_message(end->s, lane, &message) &&
           (end->way == SEND || await_completion(end->s, 0, &wc));
}

static bool receive_one(struct end *end, uint8_t mark)
{
    struct session *s = end->s;
    size_t size = (size_t)get(s, SIZE);
    struct ibv_wc wc;
    if (end->way == WRITE)
        return await_byte(s, &end->memory[1].data[size - 1], mark);
    do {
        if (!await_completion(s, 0, &wc))
            return false;
    } while (!is_receive(&wc));
    return post_receive(s, lane_of(&wc), &end->memory[1], size);
}

static bool serve(struct end *end, int64_t laps)
{
    uint8_t *mark = &end->memory[0].data[get(end->s, SIZE) - 1];
    for (int64_t i = 0; i < laps; i++) {
        *mark = (uint8_t)(i % 255 + 1);
        if (!receive_one(end, *mark) || !send_one(end, turns_next(&end->turns)))
            return false;
    }
    return true;
}

/* Laps on which the first queue pair has its turn are timed, if only_first; else all. */
static bool measure(struct end *end, int64_t warmup, int64_t laps, bool only_first)
{
    struct session *s = end->s;
    struct series *series =
        new_series(s, "", (size_t)get(s, ITERS), end->way == FETCH ? 1.0 : 0.5);
    uint8_t *mark = &end->memory[0].data[get(s, SIZE) - 1];
    if (!series)
        return false;
    for (int64_t i = 0; i < laps; i++) {
        int lane = turns_next(&end->turns);
        if (end->way == WRITE)
            *mark = (uint8_t)(i % 255 + 1);
        uint64_t begin = ticks();
        if (!send_one(end, lane) || (end->way != FETCH && !receive_one(end, *mark)))
            return false;
        note_time(series, i >= warmup && (!only_first || lane == 0), begin);
    }
    return true;
}

static bool ping_pong(struct session *s, enum way way, enum ibv_wr_opcode opcode, bool only_first)
{
    struct end end = {.s = s, .way = way, .opcode = opcode};
    int64_t cycle = only_first ? get(s, QPS) : 1;
    int64_t warmup = get(s, WARMUP) * cycle, laps = warmup + get(s, ITERS) * cycle;
    bool good = start(&end);
    if (good && !s->server)
        good = measure(&end, warmup, laps, only_first);
    else if (good && way != FETCH)
        good = serve(&end, laps);
    good = good && control_meet(s);
    turns_end(&end.turns);
    buffer_free(&end.memory[0]);
    buffer_free(&end.memory[1]);
    return good;
}

bool write_lat(struct session *s)
{
    return ping_pong(s, WRITE, IBV_WR_RDMA_WRITE, false);
}

bool send_lat(struct session *s)
{
    return ping_pong(s, SEND, IBV_WR_SEND, false);
}

bool read_lat(struct session *s)
{
    return ping_pong(s, FETCH, IBV_WR_RDMA_READ, false);
}

bool atomic_lat(struct session *s)
{
    bool adds = get(s, OP) == FETCH_ADD;
    if (s->ports[0].device.atomic_cap == IBV_ATOMIC_NONE)
        return fail(&s->failure, "the adapter has no atomics");
    return ping_pong(s, FETCH, adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP,
                     false);
}

bool qp_lat(struct session *s)
{
    return ping_pong(s, WRITE, IBV_WR_RDMA_WRITE, true);
}
