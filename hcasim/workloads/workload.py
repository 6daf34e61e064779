"""What a benchmark is: its options, results and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import product
from typing import Any

from hcasim.catalog import Machine, NodeGroup
from hcasim.engine import Simulator
from hcasim.workloads.losses import with_losses
from hcasim.workloads.option import Option
from hcasim.workloads.options import AXES, OPTIONS, Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes
from hcasim.workloads.run import Nodes, Run

Round = Callable[[Options], int]
NodeFaults = Callable[[NodeGroup, Options], Iterator[str]]
FEW = 6
"""Messages after which most runs repeat themselves."""
WINDOWS = 100
"""Messages of all windows, whole or cut, that tools of MPI's take from one process to another."""
PROGRAM = 10**5
"""Packets of each process of a kernel, which is a whole program."""
USUAL = Options()

LATENCY_US = "latency_us"
RATE = "bandwidth_MBps rate_Mps "
THROUGHPUT = "latency_us bandwidth_MBps throughput_Mbps"
"""Columns, as `described` takes them."""

LAT = Options(iters=10_000, warmup=1000)
BW = Options(size=65536, iters=100, warmup=10)
NETPIPE = Options(size=65536, iters=100, warmup=3, verb="send")
"""Defaults of ping-pongs, of windows, and NetPIPE's."""


@dataclass(frozen=True)
class Workload:
    """A benchmark.

    Attributes:
        name: as users know it from perftest or pcie-bench.
        title: one line for a list.
        fields: columns of numbers that it measures.
        options: names of the options that mean something to it.
        program: what runs it: "module.function" in `hcasim.workloads`, imported when it runs, or
            the function of a user's.
        defaults: options unless the user says otherwise.
        round: iterations after which everything that is used in turn has been used once.
        queue_pairs: those that it makes on a node.
        ladder: whether it runs NetPIPE's message sizes unless the user names some.
        nodes: the numbers of those that take part.
        mpi: whether it needs an MPI library.
        rdma: whether it needs an RDMA adapter; else any device on a bus does.
        table: the sizes that the tool itself measures, as `--size` takes them.
        words: those that an option may be here, if they are fewer than its own.
        node_faults: says what a node has not that the benchmark needs.
        replies: whether a server replies by datagrams to requests over unreliable connections.
        both_ways: whether messages go both ways at once.
        flows: of how many pairs of nodes all messages are sent; none if that depends on the run.
    """

    name: str
    title: str
    fields: tuple[str, ...]
    options: frozenset[str]
    program: str | Callable[[Run], Result]
    defaults: Options = USUAL
    round: Round = lambda options: 1
    queue_pairs: Round = lambda options: options.qps
    ladder: bool = False
    nodes: Nodes = clients_and_server
    mpi: bool = False
    rdma: bool = True
    table: str = ""
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    node_faults: NodeFaults = lambda group, options: iter(())
    replies: bool = False
    both_ways: bool = False
    flows: Round | None = None

    @property
    def function(self) -> Callable[[Run], Result]:
        if not isinstance(self.program, str):
            return self.program
        module, _, name = self.program.rpartition(".")
        found: Callable[[Run], Result] = getattr(import_module(f"hcasim.workloads.{module}"), name)
        return found

    @property
    def is_own(self) -> bool:
        """Whether a user has written it."""
        return not isinstance(self.program, str)

    def run(self, sim: Simulator, machine: Machine, options: Options) -> Result:
        """Run one point on a machine, in a simulator in which nothing has happened."""
        sized = tuple(one for one in ("size", "qps") if one in self.options)
        run = Run(self.name, sim, machine, options, self.nodes, sized)
        if not machine.loses or self.is_own or "retry_cnt" in self.options:
            return self.function(run)
        return with_losses(run, self.function)

    def option(self, name: str) -> Option:
        """An option as it is here: only tools whose tables begin with it send messages of 0 B."""
        found = OPTIONS[name]
        if name == "size" and not self.table.startswith("0.."):
            return replace(found, low=1)
        return replace(found, words=self.words[name]) if name in self.words else found

    def read(self, given: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
        """Do as `read_options`, with the options as they are here."""
        return read_options(given, faults, self.option)

    def build(self, given: Mapping[str, Any]) -> Options:
        """Complete settings, one value each and without faults, with the defaults.

        The warm-up, unless it is given, lasts until every queue pair and buffer has been used once.
        """
        settings = dict(given)
        if settings.get("mode") in ("striping", "binding"):
            settings.setdefault("ports", 2)
        if self.ladder and settings.get("verb") == "write":
            settings.setdefault("completion", "memory")
        options = replace(self.defaults, **settings)
        if "warmup" in settings or not options.warmup:
            return options
        return replace(options, warmup=max(options.warmup, self.round(options)))

    def changed(self, options: Options) -> dict[str, Any]:
        """Return the settings with which `build` makes options again; exact and explain, which
        change no result, are not among them."""
        usual = vars(self.defaults)
        found = {
            name: value
            for name, value in vars(options).items()
            if name in self.options - {"exact", "explain", "warmup"} and value != usual[name]
        }
        if "warmup" in self.options and options.warmup != self.build(found).warmup:
            found["warmup"] = options.warmup
        return found

    def each_point(self, given: Mapping[str, Any]) -> list[Options]:
        """Return the options of each point: each value of an axis with each other's."""
        swept = {name: given[name] for name in AXES if name in given}
        points = (dict(zip(swept, values, strict=True)) for values in product(*swept.values()))
        return [self.build({**given, **point}) for point in points]

    def as_many_as_there_are(self, machine: Machine, given: Mapping[str, Any]) -> dict[str, Any]:
        """Add to what was set the number of nodes, if it was not and fewer than usual are there."""
        usual, least = self.defaults.nodes, OPTIONS["nodes"].low
        if "nodes" not in self.options or "nodes" in given or usual <= machine.nodes:
            return dict(given)
        processes = given.get("processes", self.defaults.processes)
        each = max(processes) if isinstance(processes, tuple) else processes
        for number in range(machine.nodes, least, -1):
            # Some benchmarks cannot do with any number of nodes.
            with suppress(ValueError):
                self.nodes(machine, replace(self.defaults, nodes=number, processes=each))
                return {**given, "nodes": (number,)}
        return {**given, "nodes": (least,)}

    def packets(self, options: Options, mtu: int) -> int:
        """Return about how many packets a run takes, to a factor of two or three; none if it moves
        no packets."""
        if not self.options & {"client", "nodes"}:
            return 0
        if "nas_class" in self.options:
            return options.processes * PROGRAM
        each = max(1, -(-options.size // mtu))
        if self.flows is not None:
            return self.flows(options) * options.iters * options.qps * each
        messages = WINDOWS if self.mpi and "window" in self.options else FEW
        if options.exact:
            messages = options.iters + options.warmup
            messages *= options.window if "window" in self.options else 1
        flows = options.processes * options.ports * options.clients
        if "nodes" in self.options:
            flows *= options.nodes * (options.nodes - 1)
        return messages * flows * each * (2 if self.both_ways else 1)


def read_options(
    given: Mapping[str, Any],
    faults: list[str],
    option: Callable[[str], Option] = OPTIONS.__getitem__,
) -> dict[str, Any]:
    """Return options that may be text, as far as they are given, not None, and can be read.

    `faults` gets a line for each text that cannot be read; `option` says how one is written.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        try:
            if value is not None:
                found[name] = option(name).read(value) if name in OPTIONS else value
        except ValueError as error:
            faults += [f"{name}: {line}" for line in str(error).splitlines()]
    return found


def described(
    name: str, title: str, fields: str, options: str, program: str, **more: Any
) -> Workload:
    """A benchmark; what runs it bears its name if the program is only a module."""
    if program in ("latency", "bus", "flows", "rdma_bench.rates", "mpi.pairs"):
        program = f"{program}.{name}"
    understood = frozenset(options.split())
    if "nodes" in understood:
        more.setdefault("nodes", first_nodes)
    return Workload(name, title, tuple(fields.split()), understood, program, **more)
