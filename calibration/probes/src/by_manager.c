/* Connecting queue pairs by the RDMA connection manager: InfiniBand, RoCE and iWARP alike. */
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "lanes.h"

/* Seven retries would mean for ever. */
enum { TICK_MS = 50, RETRIES = 6, BACKLOG = 128, AT_ONCE = 32 };

static const uint32_t MARK = 0x68636173;

/* What a request for a connection says, in network order. InfiniBand fills up with zeros what a
 * stranger leaves out, so that the number of a lane alone would not do. */
struct request {
    uint32_t lane, mark;
};

/* Everything under way on one channel. */
struct meeting {
    struct session *s;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener[MAX_PORTS];
    struct addrinfo *there[MAX_PORTS], *here[MAX_PORTS];
    struct ibv_qp_init_attr attr;
    int active, begun, finished; /* connections that this end opens */
    int passive, accepted;       /* and those that it is asked for */
};

static bool lookup(struct session *s, const char *address, int port, struct addrinfo **found)
{
    char service[8];
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int code = getaddrinfo(address, service, &hints, found);
    return !code || fail(&s->failure, "%s: %s", address, gai_strerror(code));
}

static bool make_qp(struct meeting *m, struct lane *lane)
{
    struct ibv_qp_init_attr attr = m->attr;
    attr.send_cq = attr.recv_cq = m->s->cq[lane->port];
    if (rdma_create_qp(lane->id, m->s->pd[lane->port], &attr))
        return fail_queue_pair(m->s, "rdma_create_qp", &m->attr.cap);
    lane->qp = lane->id->qp;
    return true;
}

static struct rdma_conn_param parameters(const struct port *port, const struct request *request)
{
    return (struct rdma_conn_param){
        .private_data = request,
        .private_data_len = request ? sizeof *request : 0,
        .responder_resources = reads_at_once(port),
        .initiator_depth = reads_at_once(port),
        .retry_count = RETRIES,
        .rnr_retry_count = RETRIES,
    };
}

static int ms_left(const struct session *s)
{
    int64_t left = (s->deadline_ns - system_ns()) / 1000000;
    return left < 1 ? 1 : (int)left;
}

static bool begin(struct meeting *m)
{
    struct session *s = m->s;
    struct lane *lane = &s->lanes[m->begun++];
    if (rdma_create_id(m->channel, &lane->id, lane, RDMA_PS_TCP))
        return fail_errno(&s->failure, "rdma_create_id");
    struct addrinfo *here = m->here[lane->port];
    return !rdma_resolve_addr(lane->id, here ? here->ai_addr : NULL, m->there[lane->port]->ai_addr,
                              ms_left(s)) ||
           fail_errno(&s->failure, "rdma_resolve_addr");
}

/* The lane that a request is for; NULL if it comes from a stranger. */
static struct lane *lane_asked_for(const struct meeting *m, const struct rdma_cm_event *event)
{
    const struct session *s = m->s;
    struct request request;
    if (event->param.conn.private_data_len < sizeof request)
        return NULL;
    memcpy(&request, event->param.conn.private_data, sizeof request);
    uint32_t number = ntohl(request.lane);
    if (ntohl(request.mark) != MARK || number >= (uint32_t)m->passive)
        return NULL;
    struct lane *lane = &s->lanes[number + (uint32_t)m->active];
    return lane->id ? NULL : lane;
}

/* A connection that the peer asks for. Anybody who reaches the port may ask. */
static bool accept_one(struct meeting *m, struct rdma_cm_event *event)
{
    struct session *s = m->s;
    struct lane *lane = lane_asked_for(m, event);
    if (!lane) {
        rdma_reject(event->id, NULL, 0);
        rdma_destroy_id(event->id);
        return true;
    }
    int index = (int)(lane - s->lanes);
    lane->id = event->id;
    lane->id->context = lane;
    struct rdma_conn_param answer = parameters(&s->ports[lane->port], NULL);
    if (lane->id->verbs != s->ports[lane->port].context)
        return fail(&s->failure, "connection %d comes to another adapter", index);
    return make_qp(m, lane) &&
           (!rdma_accept(lane->id, &answer) || fail_errno(&s->failure, "rdma_accept"));
}

static bool handle(struct meeting *m, struct rdma_cm_event *event)
{
    struct session *s = m->s;
    struct lane *lane = event->id->context;
    switch (event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        if (event->id->verbs != s->ports[lane->port].context)
            return fail(&s->failure, "the way to the server leads through %s, not %s",
                        ibv_get_device_name(event->id->verbs->device),
                        ibv_get_device_name(s->ports[lane->port].context->device));
        return !rdma_resolve_route(event->id, ms_left(s)) ||
               fail_errno(&s->failure, "rdma_resolve_route");
    case RDMA_CM_EVENT_ROUTE_RESOLVED: {
        struct request request = {htonl((uint32_t)(lane - s->lanes)), htonl(MARK)};
        struct rdma_conn_param asked = parameters(&s->ports[lane->port], &request);
        return make_qp(m, lane) &&
               (!rdma_connect(lane->id, &asked) || fail_errno(&s->failure, "rdma_connect"));
    }
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        return accept_one(m, event);
    case RDMA_CM_EVENT_ESTABLISHED:
        if (lane - s->lanes < m->active)
            m->finished++;
        else
            m->accepted++;
        return true;
    default:
        return fail(&s->failure, "%s: status %d", rdma_event_str(event->event), event->status);
    }
}

static bool is_over(const struct meeting *m)
{
    return m->finished == m->active && m->accepted == m->passive;
}

static bool run(struct meeting *m)
{
    while (!is_over(m)) {
        while (m->begun < m->active && m->begun - m->finished < AT_ONCE)
            if (!begin(m))
                return false;
        struct pollfd one = {.fd = m->channel->fd, .events = POLLIN};
        struct rdma_cm_event *event, copy;
        if (!session_goes_on(m->s))
            return false;
        if (poll(&one, 1, TICK_MS) <= 0 || rdma_get_cm_event(m->channel, &event))
            continue;
        copy = *event;
        struct request request;
        if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST &&
            copy.param.conn.private_data_len >= sizeof request) {
            /* The private data goes with the event. */
            memcpy(&request, copy.param.conn.private_data, sizeof request);
            copy.param.conn.private_data = &request;
        }
        rdma_ack_cm_event(event);
        if (!handle(m, &copy))
            return false;
    }
    return true;
}

static bool listen_on_ports(struct meeting *m)
{
    struct session *s = m->s;
    for (int i = 0; i < s->port_count; i++) {
        struct addrinfo *here;
        if (!lookup(s, s->ports[i].address, 0, &here))
            return false;
        bool good = !rdma_create_id(m->channel, &m->listener[i], NULL, RDMA_PS_TCP) &&
                    !rdma_bind_addr(m->listener[i], here->ai_addr) &&
                    !rdma_listen(m->listener[i], BACKLOG);
        freeaddrinfo(here);
        if (!good)
            return fail_errno(&s->failure, "rdma_listen");
        int port = ntohs(rdma_get_src_port(m->listener[i]));
        if (s->alone && !lookup(s, s->ports[i].address, port, &m->there[i]))
            return false;
        if (!s->alone && !control_say(s, "listen %s %d", s->ports[i].address, port))
            return false;
    }
    return true;
}

static bool hear_ports(struct meeting *m)
{
    struct session *s = m->s;
    for (int i = 0; i < s->port_count; i++) {
        char line[LONGEST_WORD], address[ADDRESS_TEXT];
        int port;
        if (!control_hear(s, line))
            return false;
        if (sscanf(line, "listen %63s %d", address, &port) != 2)
            return fail(&s->failure, "heard '%.100s' instead of an address", line);
        if (!lookup(s, address, port, &m->there[i]))
            return false;
    }
    return true;
}

static bool meet(struct meeting *m)
{
    struct session *s = m->s;
    for (int i = 0; i < s->port_count; i++) {
        if (!s->ports[i].address[0])
            return fail(&s->failure, "the connection manager needs addresses: use --bind");
        if (!lookup(s, s->ports[i].address, 0, &m->here[i]))
            return false;
    }
    s->channel = m->channel = rdma_create_event_channel();
    if (!m->channel)
        return fail_errno(&s->failure, "rdma_create_event_channel");
    fcntl(m->channel->fd, F_SETFL, O_NONBLOCK);
    if ((s->alone || s->server) && !listen_on_ports(m))
        return false;
    if (!s->alone && !s->server && !hear_ports(m))
        return false;
    return run(m);
}

bool connect_by_manager(struct session *s, struct ibv_qp_init_attr attr)
{
    struct meeting m = {.s = s, .attr = attr};
    if (s->alone)
        m.active = m.passive = s->lane_count / 2;
    else if (s->server)
        m.passive = s->lane_count;
    else
        m.active = s->lane_count;
    bool good = meet(&m);
    for (int i = 0; i < MAX_PORTS; i++) {
        if (m.listener[i])
            rdma_destroy_id(m.listener[i]);
        if (m.there[i])
            freeaddrinfo(m.there[i]);
        if (m.here[i])
            freeaddrinfo(m.here[i]);
    }
    return good && control_meet(s);
}
