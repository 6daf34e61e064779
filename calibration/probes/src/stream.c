#include "stream.h"

#include <stdlib.h>

#include "memory.h"

int stream_port(const struct session *s, int lane)
{
    int qps = (int)get(s, QPS);
    if (lane == s->lane_count - 1)
        return 0;
    if (get(s, MODE) == STRIPING)
        return lane % s->port_count;
    return get(s, MODE) == BINDING && lane >= qps ? s->port_count - 1 : 0;
}

int stream_further(const struct stream *st, int64_t message)
{
    int64_t reuse = get(st->s, REUSE), before = message * reuse / 100;
    if ((message + 1) * reuse / 100 > before)
        return -1;
    return (int)((message - before) % st->further);
}

bool stream_make_buffers(struct stream *st)
{
    struct session *s = st->s;
    size_t whole = st->size < SMALL ? SMALL : st->size;
    bool reads = st->opcode == IBV_WR_RDMA_READ;
    size_t out = st->sends ? whole : SMALL;
    size_t in = st->receives || (reads && s->server) ? whole : SMALL;
    int sinks = st->width + st->further;
    st->sources = calloc((size_t)st->further + 1, sizeof *st->sources);
    st->sinks = calloc((size_t)sinks, sizeof *st->sinks);
    st->targets = calloc((size_t)sinks, sizeof *st->targets);
    st->arrivals = calloc((size_t)s->lane_count, sizeof *st->arrivals);
    if (!st->sources || !st->sinks || !st->targets || !st->arrivals)
        return fail_errno(&s->failure, "memory for the buffers");
    for (int i = 0; i < s->port_count; i++)
        if (!buffer_make(s, &st->source[i], out, i) || !buffer_make(s, &st->tail[i], out, i) ||
            !buffer_make(s, &st->small[i], SMALL, i))
            return false;
    for (int i = 0; i < st->further; i++)
        if (!buffer_make(s, &st->sources[i], out, 0))
            return false;
    for (int i = 0; i < sinks; i++) {
        int port = i < st->width ? stream_port(s, st->in + i) : 0;
        if (!buffer_make(s, &st->sinks[i], in, port))
            return false;
    }
    return true;
}

void stream_free_buffers(struct stream *st)
{
    for (int i = 0; i < MAX_PORTS; i++) {
        buffer_free(&st->source[i]);
        buffer_free(&st->tail[i]);
        buffer_free(&st->small[i]);
    }
    for (int i = 0; st->sources && i < st->further; i++)
        buffer_free(&st->sources[i]);
    for (int i = 0; st->sinks && i < st->width + st->further; i++)
        buffer_free(&st->sinks[i]);
    free(st->sources);
    free(st->sinks);
    free(st->targets);
    free(st->arrivals);
}
