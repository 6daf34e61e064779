"""The tests: which thread is connected with which, and the rates of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from hcasim.verbs import WROpcode
from hcasim.workloads.end import ATOMICS, OPCODES
from hcasim.workloads.rdma_bench.meter import Thread, metered
from hcasim.workloads.rdma_bench.worker import Worker
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run


def _threads(
    run: Run, node: int, count: int, threads: int, opcode: WROpcode | None = None
) -> list[Worker]:
    """Threads of a node with so many queue pairs each."""
    opcode, home = opcode or OPCODES[run.options.verb], run.cluster.nodes[node]
    return [
        Worker(run.sim, home, thread, run.options, opcode, count, node * threads + thread)
        for thread in range(threads)
    ]


def _join(one: Worker, number: int, other: Worker, its_number: int) -> None:
    one.connect(number, other, its_number)
    other.connect(its_number, one, number)


def rc_swarm(run: Run) -> Result:
    """Each thread of each node sends to the thread of its number on a node that it draws.

    A thread has so many queue pairs for each node (get_qp_name_local of rc-swarm/worker.c; one for
    each virtual machine). The rate is that of a node, the mean of all.
    """
    nodes, count = run.options.nodes, run.options.nodes * run.options.qps
    workers = [_threads(run, node, count, run.options.processes) for node in range(nodes)]
    for node, threads in enumerate(workers):
        for thread, worker in enumerate(threads):
            for number in range(count):
                peer = number % nodes
                if peer != node:
                    worker.connect(number, workers[peer][thread], number - peer + node)
    return measure(run, list(chain(*workers)), "node", 1 / nodes)


def rw_tput_receiver(run: Run) -> Result:
    """Each thread of each client sends to a thread of the server, which does nothing.

    The rate is that of the server.
    """
    return _to_server(run, OPCODES[run.options.verb])


def atomics(run: Run) -> Result:
    """Each thread of each client changes words of a thread of the server, which does nothing."""
    return _to_server(run, ATOMICS[run.options.op])


def _to_server(run: Run, opcode: WROpcode) -> Result:
    options, count = run.options, run.options.qps
    senders = [
        worker
        for node in range(options.clients)
        for worker in _threads(run, node, count, options.processes, opcode)
    ]
    server = _threads(run, options.clients, count, len(senders), opcode)
    for one, other in zip(senders, server, strict=True):
        for number in range(count):
            _join(one, number, other, number)
    return measure(run, senders, "client")


def rw_tput_sender(run: Run) -> Result:
    """Each thread of a server sends to a thread of a client, which does nothing.

    The queue pairs lead to the clients in turn. The rate is that of the server.
    """
    clients, threads, count = run.options.clients, run.options.processes, run.options.qps
    server = _threads(run, clients, count, threads)
    others = [_threads(run, node, -(-count * threads // clients), 1)[0] for node in range(clients)]
    for thread, worker in enumerate(server):
        for number in range(count):
            place, client = divmod(thread * count + number, clients)
            _join(worker, number, others[client], place)
    return measure(run, server, "server")


def measure(
    run: Run, threads: Sequence[Thread], role: str, share: float = 1.0, size: int = 0
) -> Result:
    """Let threads run until their rate is known; of all of them a share is asked for.

    What they send has so many bytes, if not those that the options say.
    """
    meter = metered(run, threads)
    rates = [rate / 1e6 for rate in meter.rates()]
    rate = sum(rates) * share
    row = {
        f"{role}s": len(rates),
        "bandwidth_MBps": rate * (size or run.options.size),
        "rate_Mps": rate,
        f"{role}_min_Mps": min(rates),
        f"{role}_max_Mps": max(rates),
        "error_percent": 100 * meter.error,
    }
    return run.result(row)
