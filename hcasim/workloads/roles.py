"""Which nodes of a machine take part in a benchmark, and as what.

Each function returns the numbers of the nodes, and raises ValueError where the machine or the
options have no such nodes; the text begins with the option's name.
"""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.catalog.wiring import select
from hcasim.workloads.options import Options


def clients_and_server(machine: Machine, options: Options) -> list[int]:
    """The clients, and the server behind them.

    Options may name groups, or a group may be called client or server; without either the nodes
    take their roles in order, clients first.
    """
    pool = _named(machine, "client", options.client) or range(machine.nodes)
    servers = _named(machine, "server", options.server)
    clients = [node for node in pool if node not in servers[:1]][: options.clients]
    if servers and not clients:
        raise ValueError(
            f"server: found {options.server or 'server'}, which is also the only client; "
            "allowed: another node"
        )
    others = (node for node in servers or range(machine.nodes) if node not in clients)
    server = next(others, None)
    if len(clients) < options.clients or server is None:
        most = len(clients) - (server is None)
        raise ValueError(
            f"clients: found {options.clients}; allowed: up to {most}, "
            f"as {machine.id} has beside the server"
        )
    return [*clients, server]


def both_ends(options: Options) -> tuple[int, int]:
    """The places in a cluster of client and server that the two processes of a pair have."""
    return (0, 0) if options.loopback else (0, 1)


def the_first(machine: Machine, options: Options) -> list[int]:
    """The only node that a benchmark of a bus has."""
    return [0]


def first_nodes(machine: Machine, options: Options) -> list[int]:
    """The first nodes, as many as take part."""
    if options.nodes > machine.nodes:
        group = machine.groups[-1].name
        path = "nodes.count" if group == "nodes" else f"nodes.{group}.count"
        raise ValueError(
            f"nodes: found {options.nodes}; allowed: up to {machine.nodes}, as {machine.id} has; "
            f"more with --set {path}=N"
        )
    return list(range(options.nodes))


def paired_nodes(machine: Machine, options: Options) -> list[int]:
    """The first nodes, whose processes form pairs: the first half of them with the second."""
    if options.nodes * options.processes % 2:
        each = "1 process" if options.processes == 1 else f"{options.processes} processes"
        raise ValueError(
            f"nodes: found {options.nodes} with {each} on each; "
            "allowed: an even number of processes in all"
        )
    return first_nodes(machine, options)


def hub_and_halves(machine: Machine, options: Options) -> list[int]:
    """The first nodes, of which the first has one process and the others two peers or more."""
    if (options.nodes - 1) * options.processes < 2:
        raise ValueError(
            f"nodes: found {options.nodes}, with one peer; "
            "allowed: more nodes, or more processes on each"
        )
    return first_nodes(machine, options)


def shifted_nodes(machine: Machine, options: Options) -> list[int]:
    """The first nodes, among which a shift has to leave each with another one."""
    if options.shift >= options.nodes:
        raise ValueError(
            f"shift: found {options.shift} with {options.nodes} nodes; "
            f"allowed: up to {options.nodes - 1}, or 0 to draw"
        )
    if options.senders > options.nodes:
        raise ValueError(f"senders: found {options.senders}; allowed: up to {options.nodes}, or 0")
    return first_nodes(machine, options)


def dealt_nodes(machine: Machine, options: Options) -> list[int]:
    """The first nodes, of which each job gets as many."""
    if options.nodes % options.rings or options.nodes < 2 * options.rings:
        allowed = f"allowed: multiples of rings, {options.rings}, from {2 * options.rings} on"
        raise ValueError(f"nodes: found {options.nodes}; {allowed}")
    return first_nodes(machine, options)


def _named(machine: Machine, role: str, text: str) -> range:
    """The nodes of the group that an option names or that is called as the role, if any."""
    if not text and role not in (group.name for group in machine.groups):
        return range(0)
    try:
        return select(machine.sizes, text or role)
    except ValueError as error:
        raise ValueError(f"{role}: {error}") from None
