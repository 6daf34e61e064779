"""The tests: which thread is connected with which, and the rates of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads.end import ATOMICS, OPCODES
from hcasim.workloads.options import Options
from hcasim.workloads.rdma_bench.meter import Thread, metered
from hcasim.workloads.rdma_bench.worker import Worker, warm_up
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes


def swarm_queue_pairs(options: Options) -> int:
    """Queue pairs of a node; those of a thread that would lead to its own node stay unused."""
    return options.processes * options.nodes * options.qps


def receiver_queue_pairs(options: Options) -> int:
    """Queue pairs of the server, as many as all clients have."""
    return options.clients * options.processes * options.qps


def sender_queue_pairs(options: Options) -> int:
    """Queue pairs of the server."""
    return options.processes * options.qps


def swarm_warm_up(options: Options) -> int:
    """Requests of each thread before those that are timed, unless more are asked for."""
    return warm_up(options, options.qps * (options.nodes - 1))


def thread_warm_up(options: Options) -> int:
    """The same, where a thread has as many connected queue pairs as the options say."""
    return warm_up(options, options.qps)


def _threads(
    cluster: Cluster,
    node: int,
    options: Options,
    count: int,
    threads: int,
    opcode: WROpcode | None = None,
) -> list[Worker]:
    opcode = opcode or OPCODES[options.verb]
    return [
        Worker(cluster, node, thread, options, opcode, count, node * threads + thread)
        for thread in range(threads)
    ]


def rc_swarm(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each thread of each node sends to the thread of its number on a node that it draws.

    A thread has so many queue pairs for each node (get_qp_name_local of rc-swarm/worker.c; one for
    each virtual machine). The rate is that of a node, the mean of all.
    """
    nodes, count = options.nodes, options.nodes * options.qps
    cluster = Cluster(sim, machine, first_nodes(machine, options))
    workers = [_threads(cluster, node, options, count, options.processes) for node in range(nodes)]
    for node, threads in enumerate(workers):
        for thread, worker in enumerate(threads):
            for number in range(count):
                peer = number % nodes
                if peer != node:
                    worker.connect(number, workers[peer][thread], number - peer + node)
    return measure(cluster, options, list(chain(*workers)), "node", 1 / nodes)


def rw_tput_receiver(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each thread of each client sends to a thread of the server, which does nothing.

    The rate is that of the server.
    """
    return _to_server(sim, machine, options, OPCODES[options.verb])


def atomics(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each thread of each client changes words of a thread of the server, which does nothing."""
    return _to_server(sim, machine, options, ATOMICS[options.op])


def _to_server(sim: Simulator, machine: Machine, options: Options, opcode: WROpcode) -> Result:
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    count = options.qps
    senders = [
        worker
        for node in range(options.clients)
        for worker in _threads(cluster, node, options, count, options.processes, opcode)
    ]
    server = _threads(cluster, options.clients, options, count, len(senders), opcode)
    for one, other in zip(senders, server, strict=True):
        for number in range(count):
            one.connect(number, other, number)
            other.connect(number, one, number)
    return measure(cluster, options, senders, "client")


def rw_tput_sender(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each thread of a server sends to a thread of a client, which does nothing.

    The queue pairs lead to the clients in turn. The rate is that of the server.
    """
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    count = options.qps
    server = _threads(cluster, options.clients, options, count, options.processes)
    clients = [
        _threads(cluster, node, options, -(-count * options.processes // options.clients), 1)
        for node in range(options.clients)
    ]
    for thread, worker in enumerate(server):
        for number in range(count):
            place, client = divmod(thread * count + number, options.clients)
            other = clients[client][0]
            worker.connect(number, other, place)
            other.connect(place, worker, number)
    return measure(cluster, options, server, "server")


def measure(
    cluster: Cluster,
    options: Options,
    threads: Sequence[Thread],
    role: str,
    share: float = 1.0,
    size: int = 0,
) -> Result:
    """Let threads run until their rate is known.

    Args:
        threads: those that send.
        role: what their nodes are.
        share: of the rate of all, what is asked for.
        size: bytes of what they send, if not those that the options say.
    """
    meter, explained = metered(cluster, options, threads)
    rates = [rate / 1e6 for rate in meter.rates()]
    rate = sum(rates) * share
    row = {
        "size": options.size,
        "qps": options.qps,
        f"{role}s": len(rates),
        "bandwidth_MBps": rate * (size or options.size),
        "rate_Mps": rate,
        f"{role}_min_Mps": min(rates),
        f"{role}_max_Mps": max(rates),
        "error_percent": 100 * meter.error,
    }
    return Result(row, cluster.counters(), explained)
