"""The benchmarks of flows, by what sends to what."""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads.end import OPCODES
from hcasim.workloads.flows import patterns
from hcasim.workloads.flows.completion import complete
from hcasim.workloads.flows.patterns import Pairs
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.flows import rates_of_nodes
from hcasim.workloads.result import Result
from hcasim.workloads.roles import first_nodes


def shifted_nodes(machine: Machine, options: Options) -> list[int]:
    """Return the first nodes, among which a shift has to leave each with another one.

    Raises:
        ValueError: the machine has fewer, or the shift goes around.
    """
    if options.shift >= options.nodes:
        raise ValueError(
            f"shift: found {options.shift} with {options.nodes} nodes; "
            f"allowed: up to {options.nodes - 1}, or 0 to draw"
        )
    return first_nodes(machine, options)


def _prepare(sim: Simulator, machine: Machine, options: Options) -> tuple[Cluster, WROpcode]:
    return Cluster(sim, machine, first_nodes(machine, options)), OPCODES[options.verb]


def _complete(sim: Simulator, machine: Machine, options: Options, pairs: Pairs) -> Result:
    cluster, opcode = _prepare(sim, machine, options)
    return complete(cluster, options, opcode, pairs)


def all_to_all(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each node sends to each other one, beginning with the next.

    Flows of no more messages than are in flight at once, or all that --exact asks for, are run from
    beginning to end; of longer ones what they carry while all run is measured.
    """
    pairs = patterns.each_to_each(options.nodes)
    if options.exact or options.iters <= options.tx_depth:
        return _complete(sim, machine, options, pairs)
    cluster, opcode = _prepare(sim, machine, options)
    return rates_of_nodes(cluster, options, opcode, pairs, "node")


def incast(sim: Simulator, machine: Machine, options: Options) -> Result:
    """All other nodes send to the first one."""
    return _complete(sim, machine, options, patterns.into_one(options.nodes))


def permutation(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each node sends to one other and receives from one other: drawn, or shifted."""
    if options.shift:
        return _complete(sim, machine, options, patterns.shifted(options.nodes, options.shift))
    return _complete(sim, machine, options, patterns.permuted(options.nodes, options.seed))


def neighbour(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each node sends to its neighbours in a ring or torus, on both sides."""
    pairs = patterns.neighbours(options.nodes, options.dimensions)
    return _complete(sim, machine, options, pairs)
