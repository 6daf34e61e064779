/* A stream of messages: its lanes, the buffers on both sides, and how far it is. */
#ifndef STREAM_H
#define STREAM_H

#include "session.h"

enum { SMALL = 4 /* bytes of a reply or a control message */ };

struct stream {
    struct session *s;
    enum ibv_wr_opcode opcode;
    bool sends, receives, striped, notified;
    size_t size;
    int64_t window;
    int width;                              /* data lanes of one direction */
    int out, in;                            /* the first one that we send and receive on */
    int reply;                              /* the lane of replies */
    struct buffer source[MAX_PORTS], tail[MAX_PORTS], small[MAX_PORTS];
    struct buffer *sources, *sinks;         /* further ones; sinks begin with one for each lane */
    struct target *targets;                 /* the peer's sinks */
    int further;                            /* how many there are of each */
    int64_t turn;                           /* messages sent */
    int64_t *arrivals;                      /* receives posted on each lane */
    int64_t posted, completed, notices, replies, answered, answers;
};

/* The port of a lane, counted from 0. */
int stream_port(const struct session *s, int lane);

/* Which of the further buffers a message uses; -1 if it reuses the common one. */
int stream_further(const struct stream *st, int64_t message);

bool stream_make_buffers(struct stream *st);
void stream_free_buffers(struct stream *st);

#endif
