#include "ports.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "number.h"

static bool query(struct port *port, struct failure *failure)
{
    if (ibv_query_device(port->context, &port->device))
        return fail_errno(failure, "ibv_query_device");
    if (port->number < 1 || port->number > port->device.phys_port_cnt)
        return fail(failure, "%s has ports 1 to %d; found %d",
                    ibv_get_device_name(port->context->device), port->device.phys_port_cnt,
                    port->number);
    if (ibv_query_port(port->context, port->number, &port->attr))
        return fail_errno(failure, "ibv_query_port");
    if (port->attr.state != IBV_PORT_ACTIVE)
        return fail(failure, "port %d of %s is %s", port->number,
                    ibv_get_device_name(port->context->device),
                    ibv_port_state_str(port->attr.state));
    return true;
}

bool port_open_address(struct port *port, const char *address, struct failure *failure)
{
    struct addrinfo *found;
    *port = (struct port){.gid_index = -1};
    if (strlen(address) >= sizeof port->address)
        return fail(failure, "%.20s...: found %zu characters; allowed: at most %zu", address,
                    strlen(address), sizeof port->address - 1);
    snprintf(port->address, sizeof port->address, "%s", address);
    int code = getaddrinfo(address, NULL, NULL, &found);
    if (code)
        return fail(failure, "%s: %s", address, gai_strerror(code));
    bool good = !rdma_create_id(NULL, &port->holder, NULL, RDMA_PS_TCP) ||
                fail_errno(failure, "rdma_create_id");
    if (good && rdma_bind_addr(port->holder, found->ai_addr))
        good = fail_errno(failure, "rdma_bind_addr");
    freeaddrinfo(found);
    if (good && !port->holder->verbs)
        good = fail(failure, "%s belongs to no RDMA device", address);
    if (good) {
        port->context = port->holder->verbs;
        port->number = port->holder->port_num;
        good = query(port, failure);
    }
    if (!good)
        port_close(port);
    return good;
}

bool port_open_device(struct port *port, const char *name, int gid_index, struct failure *failure)
{
    char device[IBV_SYSFS_NAME_MAX];
    const char *colon = strchr(name, ':');
    *port = (struct port){.gid_index = gid_index, .number = 1};
    snprintf(device, sizeof device, "%.*s", colon ? (int)(colon - name) : (int)strlen(name), name);
    if (colon) {
        int64_t number;
        if (!read_whole(colon + 1, 1, UINT8_MAX, &number))
            return fail(failure, "--device: found port '%.40s'; allowed: 1 to %d", colon + 1,
                        UINT8_MAX);
        port->number = (uint8_t)number;
    }
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(ibv_get_device_name(list[i]), device) == 0)
            port->context = ibv_open_device(list[i]);
    if (list)
        ibv_free_device_list(list);
    if (!port->context)
        return fail(failure, "found no RDMA device %s", device);
    if (query(port, failure))
        return true;
    port_close(port);
    return false;
}

void port_close(struct port *port)
{
    if (port->holder)
        rdma_destroy_id(port->holder);
    else if (port->context)
        ibv_close_device(port->context);
    *port = (struct port){0};
}

/* Whether a GID is the IPv4 or IPv6 address of the port. */
static bool is_address(const union ibv_gid *gid, const char *address)
{
    uint8_t raw[16] = {[10] = 0xff, [11] = 0xff};
    if (inet_pton(AF_INET, address, raw + 12) != 1 && inet_pton(AF_INET6, address, raw) != 1)
        return false;
    return memcmp(gid->raw, raw, sizeof raw) == 0;
}

int port_gid_index(const struct port *port)
{
    if (port->gid_index >= 0 || port->attr.link_layer != IBV_LINK_LAYER_ETHERNET)
        return port->gid_index;
    int best = 0, best_rank = -1;
    for (int i = 0; i < port->attr.gid_tbl_len; i++) {
        struct ibv_gid_entry entry;
        if (ibv_query_gid_ex(port->context, port->number, (uint32_t)i, &entry, 0))
            continue;
        int rank = 2 * is_address(&entry.gid, port->address) +
                   (entry.gid_type == IBV_GID_TYPE_ROCE_V2);
        if (rank > best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}
