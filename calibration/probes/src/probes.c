#include "probes.h"

#include <stddef.h>

#define BIT(key) (1u << (key))

enum {
    COMMON = BIT(SIZE) | BIT(ITERS) | BIT(WARMUP) | BIT(PAGE_SIZE),
    PAIR = COMMON | BIT(QPS) | BIT(MTU) | BIT(FAULT),
    LATENCY = PAIR | BIT(PATTERN),
    WINDOWS = PAIR | BIT(WINDOW) | BIT(REUSE) | BIT(BUFFERS) | BIT(VERB) | BIT(INLINE) |
              BIT(PORTS) | BIT(MODE) | BIT(THRESHOLD),
};

const struct probe PROBES[] = {
    {"write_lat", "RDMA write ping-pong, memory polled", LATENCY | BIT(INLINE), 8, 10000, 1000,
     false, write_lat},
    {"send_lat", "send/receive ping-pong, completion queue polled", LATENCY | BIT(INLINE), 8, 10000,
     1000, false, send_lat},
    {"read_lat", "RDMA read round trip", LATENCY, 8, 10000, 1000, false, read_lat},
    {"atomic_lat", "atomic round trip", LATENCY | BIT(OP), 8, 10000, 1000, false, atomic_lat},
    {"qp_lat", "write ping-pong over queue pairs in turn, the first one's", PAIR | BIT(INLINE), 8,
     100, 10, false, qp_lat},
    {"scatter", "a buffer on each queue pair, all completions", PAIR | BIT(INLINE), 8, 100, 10,
     false, scatter},
    {"loopback_lat", "RDMA write within one port, there and back", COMMON | BIT(QPS), 8, 10000,
     1000, true, loopback_lat},
    {"window_bw", "one-way windows of messages", WINDOWS, 65536, 100, 10, false, window_bw},
    {"window_bibw", "two-way windows of messages", WINDOWS, 65536, 100, 10, false, window_bibw},
    {"reg_mr", "registering memory and deregistering it", COMMON, 65536, 100, 10, true, reg_mr},
    {"post_cost", "calls that post work and poll for it", COMMON | BIT(WINDOW) | BIT(INLINE), 8,
     1000, 100, true, post_cost},
    {NULL, NULL, 0, 0, 0, 0, false, NULL},
};
