/* Finding ports of adapters, and what sysfs tells of them. */
#ifndef PORTS_H
#define PORTS_H

#include "session.h"

/* Opens the port that has this address. */
bool port_open_address(struct port *port, const char *address, struct failure *failure);

/* Opens a port by its device: "mlx5_0" or "mlx5_0:2"; gid_index may be -1. */
bool port_open_device(struct port *port, const char *name, int gid_index, struct failure *failure);

/* The entry of the port's GID table to use when connecting by hand. */
int port_gid_index(const struct port *port);

void port_close(struct port *port);

#endif
