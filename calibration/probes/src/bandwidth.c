/* window_bw and window_bibw: windows of messages, written, sent or read.
 *
 * The sender posts a window of messages, the receiver waits for all of them and sends a small
 * reply. Reads need no reply. A window counts until the reply and all completions are there.
 *
 * Who receives writes polls memory: the last message of a window on each queue pair comes from a
 * buffer of its own, whose last byte tells which window it is, and goes to the lane's own buffer.
 * Striped messages are followed by a control message on each port instead. */
#include <stdatomic.h>

#include "control.h"
#include "lanes.h"
#include "memory.h"
#include "probes.h"
#include "stream.h"
#include "verbs.h"

enum { SPARE_RECEIVES = 8, SPARE_SENDS = 16, BATCH = 16, POLLS = 256 };

static bool prepare_receive(struct stream *st, int lane)
{
    struct session *s = st->s;
    if (lane == st->reply || st->striped)
        return post_receive(s, lane, &st->small[s->lanes[lane].port], SMALL);
    int64_t message = st->arrivals[lane]++ * st->width + (lane - st->in);
    int further = stream_further(st, message);
    return post_receive(s, lane, &st->sinks[further < 0 ? 0 : st->width + further], st->size);
}

static bool prepare_receives(struct stream *st)
{
    for (int i = 0; i < SPARE_RECEIVES; i++)
        if (!prepare_receive(st, st->reply))
            return false;
    for (int lane = 0; st->notified && st->receives && lane < st->width; lane++)
        for (int64_t i = 0; i < st->window + SPARE_RECEIVES; i++)
            if (!prepare_receive(st, st->in + lane))
                return false;
    return true;
}

static bool send_small(struct stream *st, int lane)
{
    struct message message = {.opcode = IBV_WR_SEND,
                              .from = &st->small[st->s->lanes[lane].port],
                              .size = SMALL};
    return post_message(st->s, lane, &message);
}

/* Posts a part of a message on a lane, counted from the first that we send on. */
static bool send_part(struct stream *st, int lane, const struct buffer *from, int sink,
                      size_t offset, size_t size)
{
    struct message message = {.opcode = st->opcode,
                              .from = from,
                              .offset = offset,
                              .size = size,
                              .remote = st->targets[sink].address + offset,
                              .rkey = st->targets[sink].rkey};
    if (!post_message(st->s, st->out + lane, &message))
        return false;
    st->posted++;
    if (!st->striped)
        return true;
    st->posted++;
    return send_small(st, st->out + lane);
}

static bool send_striped(struct stream *st)
{
    struct session *s = st->s;
    int first = (int)(st->turn++ % get(s, QPS)) * s->port_count;
    if (st->size <= (size_t)get(s, THRESHOLD))
        return send_part(st, first, &st->source[0], first, 0, st->size);
    size_t share = (st->size + (size_t)s->port_count - 1) / (size_t)s->port_count;
    for (int i = 0; i < s->port_count; i++) {
        size_t offset = (size_t)i * share;
        size_t end = offset + share > st->size ? st->size : offset + share;
        if (!send_part(st, first + i, &st->source[i], first + i, offset, end - offset))
            return false;
    }
    return true;
}

static bool send_message(struct stream *st, int64_t place)
{
    int64_t message = st->turn++;
    int lane = (int)(message % st->width), sink = lane;
    const struct buffer *from = &st->source[st->s->lanes[st->out + lane].port];
    int further = stream_further(st, message);
    if (st->opcode == IBV_WR_RDMA_WRITE && place + st->width >= st->window) {
        from = &st->tail[st->s->lanes[st->out + lane].port];
    } else if (further >= 0) {
        from = &st->sources[further];
        sink = st->width + further;
    }
    return send_part(st, lane, from, sink, 0, st->size);
}

/* Takes the completions that are there. */
static bool progress(struct stream *st)
{
    struct ibv_wc wc[BATCH];
    struct session *s = st->s;
    for (int port = 0; port < s->port_count; port++) {
        int count = poll_port(s, port, wc, BATCH);
        for (int i = 0; i < count; i++) {
            int lane = lane_of(&wc[i]);
            if (is_receive(&wc[i])) {
                if (lane == st->reply)
                    st->replies++;
                else
                    st->notices++;
                if (!prepare_receive(st, lane))
                    return false;
            } else if (lane == st->reply) {
                st->answered++;
            } else {
                st->completed++;
            }
        }
        if (count < 0)
            return false;
    }
    return spin(s);
}

static bool await_window(struct stream *st, int64_t number)
{
    struct session *s = st->s;
    if (st->notified) {
        bool divided = st->striped && st->size > (size_t)get(s, THRESHOLD);
        st->notices -= st->window * (divided ? s->port_count : 1);
        while (st->notices < 0)
            if (!progress(st))
                return false;
        return true;
    }
    int64_t first = st->window > st->width ? st->window - st->width : 0;
    for (int64_t place = first; place < st->window; place++) {
        int64_t lane = (number * st->window + place) % st->width;
        const volatile uint8_t *last = &st->sinks[lane].data[st->size - 1];
        /* Our own messages may fail meanwhile. */
        for (unsigned polls = 1; *last != (uint8_t)(number % 255 + 1); polls++)
            if (polls % POLLS == 0 && !progress(st))
                return false;
    }
    atomic_thread_fence(memory_order_acquire);
    return true;
}

static bool run_window(struct stream *st, int64_t number)
{
    bool replies = st->opcode != IBV_WR_RDMA_READ;
    for (int i = 0; st->sends && i < st->s->port_count; i++)
        st->tail[i].data[st->size - 1] = (uint8_t)(number % 255 + 1);
    for (int64_t place = 0; st->sends && place < st->window; place++)
        if (!(st->striped ? send_striped(st) : send_message(st, place)))
            return false;
    if (st->receives) {
        st->answers++;
        if (!await_window(st, number) || !send_small(st, st->reply))
            return false;
    }
    if (st->sends && replies)
        st->replies--;
    while (st->replies < 0 || st->completed < st->posted || st->answered < st->answers)
        if (!progress(st))
            return false;
    return true;
}

static bool run_windows(struct stream *st)
{
    struct session *s = st->s;
    struct series *series = NULL;
    if (!s->server && !(series = new_series(s, "window", (size_t)get(s, ITERS), 1.0)))
        return false;
    for (int64_t i = 0; i < get(s, WARMUP) + get(s, ITERS); i++) {
        uint64_t begin = ticks();
        if (!run_window(st, i))
            return false;
        if (series)
            note_time(series, i >= get(s, WARMUP), begin);
    }
    return true;
}

static bool stream(struct session *s, bool both_ways)
{
    static const enum ibv_wr_opcode OPCODES[] = {
        [WRITES] = IBV_WR_RDMA_WRITE, [SENDS] = IBV_WR_SEND, [READS] = IBV_WR_RDMA_READ};
    enum ibv_wr_opcode opcode = OPCODES[get(s, VERB)];
    int ports = get(s, MODE) == STRIPING ? (int)get(s, PORTS) : 1;
    bool apart = both_ways && get(s, MODE) == BINDING, reads = opcode == IBV_WR_RDMA_READ;
    struct stream st = {
        .s = s,
        .opcode = opcode,
        .sends = !s->server || both_ways,
        .receives = !reads && (s->server || both_ways),
        .striped = get(s, MODE) == STRIPING,
        .size = (size_t)get(s, SIZE),
        .window = get(s, WINDOW),
        .width = (int)get(s, QPS) * ports,
        .further = get(s, REUSE) < 100 ? (int)get(s, BUFFERS) : 0,
    };
    st.notified = st.striped || opcode == IBV_WR_SEND;
    st.out = apart && s->server ? st.width : 0;
    st.in = apart && !s->server ? st.width : 0;
    st.reply = apart ? 2 * st.width : st.width;
    int each = (int)((st.window + get(s, QPS) - 1) / get(s, QPS));
    struct need need = {.lanes = st.reply + 1,
                        .sends = 2 * each + SPARE_SENDS,
                        .receives = (st.notified ? (int)st.window : 0) + SPARE_RECEIVES,
                        .completions = 6 * (int)st.window * ports + 64};
    bool good = lanes_prepare(s, &need) && lanes_connect(s, &need, stream_port) &&
                stream_make_buffers(&st) && prepare_receives(&st) &&
                exchange_targets(s, st.sinks, st.width + st.further, st.targets) &&
                ((reads && s->server) || run_windows(&st)) && control_meet(s);
    stream_free_buffers(&st);
    s->bytes = (double)st.size * (double)st.window * (both_ways ? 2 : 1);
    s->messages = (double)st.window * (both_ways ? 2 : 1);
    return good;
}

bool window_bw(struct session *s)
{
    return stream(s, false);
}

bool window_bibw(struct session *s)
{
    return stream(s, true);
}
