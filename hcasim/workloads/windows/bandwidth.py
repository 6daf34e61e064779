"""The two tests: processes in pairs, connected as the mode says, and what they measure."""

from __future__ import annotations

from hcasim.verbs import QP, WROpcode
from hcasim.verbs.requests import WIRE
from hcasim.workloads.end import OPCODES, join, rate_columns
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run
from hcasim.workloads.windows.plan import ALL, WindowPlan
from hcasim.workloads.windows.process import Lane, Process

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
    home = 0
    if options.mode == "binding":
        home, back = index % options.ports, (index + 1) % options.ports
        _send_on(a, b, [_connect(a, b, home, back) for _ in range(options.qps)])
        if both_ways:
            _send_on(b, a, [_connect(b, a, home, back) for _ in range(options.qps)])
    else:
        ports = list(range(options.ports)) * options.qps
        pairs = [_connect(a, b, port, port) for port in ports]
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


def measure(run: Run) -> Result:
    """Bandwidth of windows of messages that are written, sent or read, one way or both together."""
    sim, cluster, options = run.sim, run.cluster, run.options
    opcode = OPCODES[options.verb]
    reads = opcode is WROpcode.RDMA_READ
    processes: list[Process] = []
    for index in range(options.processes):
        a, b = (Process(run, node, index, opcode) for node in range(2))
        _pair(a, b, index, options, run.name == "window_bibw")
        processes += [a, b]
    for process in processes:
        sim.run(until=sim.process(process.prepare()))
    sim.run()
    packets = cluster.nodes[0].adapter.packets(WIRE[opcode], options.size)
    plan = WindowPlan(options.window, packets, options.qps, _in_full(options))
    senders = [process for process in processes if process.sends]
    for process in senders if reads else processes:
        sim.process(process.run(plan))
    senders[0].on_first_lap = run.usage.mark
    sim.run(until=sim.all_of([process.finished for process in senders]))
    laps = [process.timing.laps for process in senders]
    per_second = sum(options.window / (one.mean_ps() / 1e12) for one in laps)
    error = max(one.error_percent for one in laps)
    row = {**rate_columns(per_second, options.size), "error_percent": error}
    return run.result(row, sized=("size", "qps", "reuse"))
