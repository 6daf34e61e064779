"""A ping-pong of two nodes while the others load the network, and one in an idle network.

The first node is the client of the probe, and the second its server. In the background are writes:
streams of all other nodes to the server, or flows of drawn sizes between any two nodes, which begin
when they are drawn to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hcasim.engine import Simulator
from hcasim.fabric.medium import medium
from hcasim.ground.errors import CatalogError
from hcasim.workloads.end import OPCODES, Steps
from hcasim.workloads.flow_sizes import SIZES, mean_size
from hcasim.workloads.flows import ENDLESS, circles_told, draws, percentile
from hcasim.workloads.laps import Laps
from hcasim.workloads.latency import PingPong, SendEnd, WriteEnd, two_ends
from hcasim.workloads.losses import missing
from hcasim.workloads.options import ACKNOWLEDGED
from hcasim.workloads.perftest.side import join
from hcasim.workloads.result import Result
from hcasim.workloads.roles import first_nodes
from hcasim.workloads.run import Run

DEPTH = 16
"""Messages of a stream that are in flight."""
LOOK_PS = 1_000_000
"""From a look at whether the probe is through to the next."""
PATIENCE_PS = 10_000_000_000
"""After so long without a round trip a message that is not sent again is lost: the memories of
several switches have emptied by then. It is longer by what messages of all nodes take."""
_SERVER = 1
_WRITE = OPCODES["write"]


def _round_trips(run: Run) -> tuple[PingPong, Laps]:
    """The probe, of which each iteration is timed."""
    kind: type[WriteEnd | SendEnd] = SendEnd if run.options.verb == "send" else WriteEnd
    client, server = two_ends(kind, run, OPCODES[run.options.verb])
    return PingPong(run, client, server, typical=False), Laps.of(replace(run.options, exact=True))


def _streams(run: Run) -> list[Steps]:
    """What sends to the server for ever."""
    size = run.options.background_size
    options = replace(
        run.options, size=size, iters=ENDLESS, tx_depth=DEPTH, connection="RC", verb="write"
    )
    nodes = range(_SERVER + 1, run.options.nodes)
    return [join(run.cluster, (node, _SERVER), options, _WRITE)[0].run() for node in nodes]


def _flows(run: Run) -> Steps:
    """Begin flows when they are drawn to, for ever."""
    options = run.options
    sizes = SIZES[options.flow_sizes]
    each_ps = mean_size(sizes) * float(medium(run.machine.link).ps_per_byte)
    each_ps /= options.load / 100 * options.nodes
    for pair, at, size in draws(options.nodes, sizes, each_ps, options.seed):
        if at > run.sim.now:
            yield run.sim.timeout(at - run.sim.now)
        one = replace(options, size=size, iters=1, connection="RC", verb="write")
        run.sim.process(join(run.cluster, pair, one, _WRITE)[0].run())


def _timed(run: Run, loaded: bool) -> tuple[Sequence[int], float]:
    """Return what round trips took, in ps, and bytes of others that came in a second meanwhile."""
    probe, laps = _round_trips(run)
    sim = run.sim
    ports = [port for node in run.cluster.nodes for port in node.adapter.ports]
    reliable = run.options.connection in ACKNOWLEDGED
    streams = run.options.background == "incast"
    whole_ps = (
        len(run.cluster.nodes) * run.options.size * float(medium(run.machine.link).ps_per_byte)
    )
    patience_ps = PATIENCE_PS + 4 * int(whole_ps)
    seen: list[tuple[int, int]] = []

    def look() -> Steps:
        """Note what has been sent, after the warm-up and at the end."""
        done, since = 0, sim.now
        for count in (laps.warmup, laps.warmup + laps.iters):
            while len(laps.durations_ps) < count or (seen and seen[0][0] == sim.now):
                yield sim.timeout(LOOK_PS)
                if len(laps.durations_ps) > done:
                    done, since = len(laps.durations_ps), sim.now
                elif sim.now > since + patience_ps and not reliable:
                    raise CatalogError([f"{run.name}: {missing(run)}"])
            own = 2 * len(laps.durations_ps) * run.options.size
            seen.append((sim.now, sum([port.payload_received for port in ports]) - own))

    def beside() -> None:
        background = _streams(run) if streams else [_flows(run)]
        for steps in [*background, look()] if loaded else []:
            sim.process(steps)

    with circles_told(run.cluster):
        probe.measure(laps, beside=beside)
        if loaded:
            sim.run(until=sim.now + 2 * LOOK_PS + 1)
    took = laps.durations_ps[laps.warmup :]
    if not loaded:
        return took, 0.0
    (begin, before), (end, after) = seen
    return took, 1e12 * (after - before) / (end - begin)


def probe_lat(run: Run) -> Result:
    """Latency of one pair beside the load of others, and without any."""
    took, background = _timed(run, loaded=True)
    machine = run.machine
    alone = replace(run.options, nodes=2)
    idle, _ = _timed(Run(run.name, Simulator(), machine, alone, first_nodes), loaded=False)
    shares = {"p50": 500, "p99": 990, "p999": 999}
    times = {name: percentile(took, count, 1000) / 2e6 for name, count in shares.items()}
    quiet = {name: percentile(idle, count, 1000) / 2e6 for name, count in shares.items()}
    row = {
        "nodes": run.options.nodes,
        "latency_us": sum(took) / len(took) / 2e6,
        **{f"latency_{name}_us": time for name, time in times.items()},
        "idle_p50_us": quiet["p50"],
        **{f"slowdown_{name}_times": times[name] / quiet[name] for name in ("p50", "p99")},
        "background_MBps": background / 1e6,
    }
    return run.result(row, sized=("size",))
