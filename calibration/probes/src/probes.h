/* The benchmarks. Each measures one point, at either end. */
#ifndef PROBES_H
#define PROBES_H

#include "session.h"

bool write_lat(struct session *s);
bool send_lat(struct session *s);
bool read_lat(struct session *s);
bool atomic_lat(struct session *s);
bool qp_lat(struct session *s);
bool scatter(struct session *s);
bool loopback_lat(struct session *s);
bool window_bw(struct session *s);
bool window_bibw(struct session *s);
bool reg_mr(struct session *s);
bool post_cost(struct session *s);

#endif
