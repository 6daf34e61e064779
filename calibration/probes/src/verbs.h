/* Posting and completing work, with faults in words. */
#ifndef VERBS_H
#define VERBS_H

#include "session.h"

/* One message. */
struct message {
    enum ibv_wr_opcode opcode;
    const struct buffer *from;
    size_t offset, size;
    uint64_t remote;
    uint32_t rkey;
};

/* Work request ids tell which lane a completion belongs to, and which way it went. */
enum { RECEIVED = 1 };
static inline int lane_of(const struct ibv_wc *wc)
{
    return (int)(wc->wr_id >> 1);
}
static inline bool is_receive(const struct ibv_wc *wc)
{
    return wc->wr_id & RECEIVED;
}

bool post_message(struct session *s, int lane, const struct message *message);
bool post_receive(struct session *s, int lane, const struct buffer *into, size_t size);

/* Takes up to `most` completions of a port that are there; -1 if one is an error. */
int poll_port(struct session *s, int port, struct ibv_wc *wc, int most);
/* Waits for the next one. */
bool await_completion(struct session *s, int port, struct ibv_wc *wc);
/* Waits until memory holds a value that the peer writes. */
bool await_byte(struct session *s, const volatile uint8_t *byte, uint8_t value);

#endif
