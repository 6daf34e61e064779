"""The two tests: processes in pairs, connected as the mode says, and what they measure."""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import QP, WROpcode
from hcasim.workloads.end import OPCODES, join, rate_columns
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server
from hcasim.workloads.windows.plan import ALL, WindowPlan
from hcasim.workloads.windows.process import Lane, Process, ReadProcess

NEGLIGIBLE = 2**24
"""Bytes of a window beside which a few fetched translations do not count."""


def _connect(a: Process, b: Process, port_a: int, port_b: int) -> tuple[QP, QP]:
    ends = a.new_qp(port_a), b.new_qp(port_b)
    join(*ends)
    return ends


def _send_on(sender: Process, receiver: Process, pairs: list[tuple[QP, QP]]) -> None:
    sender.sends = receiver.receives = True
    sender.receiver = receiver
    shared = receiver.new_buffer() if sender.striped else None
    for mine, theirs in pairs:
        sender.lanes_out.append(Lane(mine, shared or receiver.new_buffer()))
        receiver.expect_on(theirs)


def _pair(a: Process, b: Process, index: int, options: Options, both_ways: bool) -> None:
    """Connect two processes as the mode says; ``index`` numbers the pair on its nodes."""
    if options.mode == "binding":
        there, back = index % options.ports, (index + 1) % options.ports
        forward = [_connect(a, b, there, back) for _ in range(options.qps)]
        _send_on(a, b, forward)
        if both_ways:
            backward = [_connect(b, a, there, back) for _ in range(options.qps)]
            _send_on(b, a, backward)
        home = there
    else:
        home = 0
        pairs = [
            _connect(a, b, port, port) for _ in range(options.qps) for port in range(options.ports)
        ]
        _send_on(a, b, pairs)
        if both_ways:
            _send_on(b, a, [(theirs, mine) for mine, theirs in pairs])
    a.reply_qp, b.reply_qp = _connect(a, b, home, home)


def _in_full(options: Options) -> bool:
    """Whether windows are run in full, because one message does not stand for the others.

    That is so if messages differ, if the first window counts, and if many buffers displace between
    two windows what a window begins with, unless the window is so long that this does not matter.
    """
    short = options.window * options.size < NEGLIGIBLE
    alike = not 0 < options.reuse < ALL and options.warmup > 0
    return options.exact or not alike or (options.reuse < ALL and short)


def _stream(sim: Simulator, machine: Machine, options: Options, both_ways: bool) -> Result:
    opcode = OPCODES[options.verb]
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    kind = ReadProcess if opcode is WROpcode.RDMA_READ else Process
    processes: list[Process] = []
    for index in range(options.processes):
        a, b = (kind(cluster, node, index, options, opcode) for node in range(2))
        _pair(a, b, index, options, both_ways)
        processes += [a, b]
    for process in processes:
        sim.run(until=sim.process(process.prepare()))
    sim.run()
    packets = cluster.nodes[0].adapter.packets(opcode.value, options.size)
    plan = WindowPlan(options.window, packets, options.qps, _in_full(options))
    senders = [process for process in processes if process.sends]
    for process in processes:
        if process.sends or opcode is not WROpcode.RDMA_READ:
            sim.process(process.run(plan))
    usage = Utilisation(cluster.sim)
    senders[0].on_first_lap = usage.mark
    sim.run(until=sim.all_of([process.finished for process in senders]))
    laps = [process.timing.laps for process in senders]
    per_second = sum(options.window / (one.mean_ps() / 1e12) for one in laps)
    row = {
        "size": options.size,
        "qps": options.qps,
        "reuse": options.reuse,
        **rate_columns(per_second, options.size),
        "error_percent": max(one.error_percent for one in laps),
    }
    return Result(row, cluster.counters(), usage.report() if options.explain else {})


def window_bw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """One-way bandwidth of windows of messages that are written, sent or read."""
    return _stream(sim, machine, options, both_ways=False)


def window_bibw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Two-way bandwidth of windows of messages, both directions added up."""
    return _stream(sim, machine, options, both_ways=True)
