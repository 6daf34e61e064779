"""What a benchmark is to those that offer it: its options, results and the nodes that it uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.workloads.option import Option
from hcasim.workloads.options import OPTIONS, Options, Verb
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server

Run = Callable[[Simulator, Machine, Options], Result]
Round = Callable[[Options], int]
Nodes = Callable[[Machine, Options], list[int]]
COMMON = frozenset({"size", "iters", "warmup", "exact", "explain"})
ROLES = frozenset({"client", "server"})
STREAM_FIELDS = ("bandwidth_MBps", "rate_Mps")


def once(options: Options) -> int:
    """One, whatever the options."""
    return 1


def queue_pairs_of(options: Options) -> int:
    """The queue pairs that the options say."""
    return options.qps


@dataclass(frozen=True)
class Workload:
    """A benchmark.

    Attributes:
        name: as users know it from perftest or pcie-bench.
        title: one line for a list.
        fields: columns of numbers that it measures.
        options: names of the options that mean something to it.
        defaults: options unless the user says otherwise.
        round: iterations after which everything that is used in turn has been used once.
        queue_pairs: those that it makes on a node.
        ladder: whether it runs NetPIPE's message sizes unless the user names some.
        nodes: the numbers of those that take part.
        mpi: whether it needs an MPI library.
        rdma: whether it needs an RDMA adapter; else any device on a bus does.
        table: the sizes that the tool itself measures, as `--size` takes them.
        verbs: how its messages may travel.
        replies: whether a server replies by datagrams to requests over unreliable connections.
        flows: of how many pairs of nodes all messages are sent; none if that depends on the run.
    """

    name: str
    title: str
    fields: tuple[str, ...]
    options: frozenset[str]
    defaults: Options
    run: Run
    round: Round = once
    queue_pairs: Round = queue_pairs_of
    ladder: bool = False
    nodes: Nodes = clients_and_server
    mpi: bool = False
    rdma: bool = True
    table: str = ""
    verbs: tuple[Verb, ...] = ("write", "send")
    replies: bool = False
    flows: Round | None = None

    def option(self, name: str) -> Option:
        """An option as it is here: only tools whose tables begin with it send messages of 0 B."""
        found = OPTIONS[name]
        if name == "size" and not self.table.startswith("0.."):
            return replace(found, low=1)
        return found
