"""Simulated benchmarks as other tools print them, and as traces, as if measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from hcasim import __version__
from hcasim.catalog import Adapter, EthernetLink, Machine, PcieDevice
from hcasim.catalog.link import LANES, MTU_OF
from hcasim.ground.quantities import QUANTITIES, traced
from hcasim.traces import (
    TRANSPORTS,
    Device,
    Header,
    Measured,
    Pci,
    Point,
    Port,
    Tool,
    Trace,
    imb,
    osu,
)
from hcasim.traces.imb import write_imb
from hcasim.traces.netpipe import write_netpipe, write_np_out
from hcasim.traces.osu import write_osu
from hcasim.traces.perftest import run as perftest
from hcasim.traces.perftest.text import write_perftest
from hcasim.traces.simulated import Run
from hcasim.workloads import WORKLOADS, Workload, find_workload
from hcasim.workloads.options import AXES
from hcasim.workloads.perftest.side import moderation

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark

    Row = Mapping[str, Any]


def printed(result: Benchmark, tool: str) -> str:
    """Return what perftest, osu, imb or netpipe would print of a result."""
    if tool == "netpipe":
        lines = write_netpipe(tool_run(result, result.rows, result.changed))
    else:
        write = {"perftest": write_perftest, "osu": write_osu, "imb": write_imb}[tool]
        lines = (line for run in tool_runs(result) for line in write(run))
    return "\n".join(lines)


def np_out(result: Benchmark) -> str:
    """Return a result as NetPIPE's file np.out."""
    return "".join(
        f"{line}\n" for line in write_np_out(tool_run(result, result.rows, result.changed))
    )


def has_test(tool: str, workload: Workload) -> bool:
    """Whether a tool has a test like a workload, so that it can be printed as the tool does."""
    if tool == "netpipe":
        return "throughput_Mbps" in workload.fields
    titles = {"perftest": perftest.TITLES, "osu": osu.TITLES, "imb": imb.TITLES}[tool]
    return workload.name in titles


def tool_runs(result: Benchmark) -> Iterator[Run]:
    """Yield the runs of a tool that a result is printed as: only sizes vary within each."""
    found: dict[tuple[Any, ...], list[tuple[Row, Row]]] = {}
    others = [name for name in result.axes if name != "size"]
    for row, changed in zip(result.rows, result.changed, strict=True):
        apart = (*(row[name] for name in others), _moderated(result, row))
        found.setdefault(apart, []).append((row, changed))
    for lines in found.values():
        rows, changed_options = zip(*lines, strict=True)
        yield tool_run(result, rows, changed_options)


def tool_run(result: Benchmark, rows: Sequence[Row], changed: Sequence[Row]) -> Run:
    """Return rows of a result as what a tool prints of one run."""
    machine = result.machine
    return Run(
        workload=result.workload,
        hcasim=__version__,
        adapter=machine.adapter.id,
        machine=simulated_on(machine),
        mtu=machine.mtu,
        transport=machine.hca.protocol.kind,
        link=machine.link.kind,
        axes=tuple(result.axes),
        options=asdict(result.options) | {"cq_mod": _moderated(result, rows[0])},
        rows=rows,
        changed=changed,
    )


def _moderated(result: Benchmark, row: Row) -> int:
    """Requests for one completion at the size of a row."""
    return moderation(replace(result.options, size=row.get("size", result.options.size)))


def has_trace(workload: str) -> bool:
    """Whether a trace can hold what a workload measures."""
    found = find_workload(workload)
    return found is None or any(map(traced, found.fields))


def to_trace(result: Benchmark) -> Trace:
    """Return a simulated benchmark as a trace; each point has one sample, which is exact."""
    workload = WORKLOADS[result.workload]
    points = []
    for row, changed in zip(result.rows, result.changed, strict=True):
        swept = {name: row[name] for name in AXES if name in row and name in workload.options}
        fields = (field for field in workload.fields if traced(field) and field in row)
        measured = tuple(_measured(field, row[field]) for field in fields)
        points.append(Point(workload=workload.name, options=changed | swept, measured=measured))
    return Trace(_header(result.machine), tuple(points))


def simulated_on(machine: Machine) -> str:
    """Say on what was simulated: the testbed, and what may be chosen beside it."""
    adapter, mode = machine.adapter.id, machine.groups[0].firmware_mode
    parts = [f"simulated: {machine.id}", f"adapter {adapter}", f"stack {machine.stack.id}"]
    if mode not in (None, "tavor"):
        parts.append(f"firmware mode {mode}")
    if machine.switch is None:
        parts.append("no switch")
    return ", ".join([*parts, *(f"{path}={text}" for path, text in machine.overrides.items())])


def _measured(field: str, value: float) -> Measured:
    quantity, name = traced(field) or ("", "")
    unit, factor = QUANTITIES[quantity].trace or ("", 1.0)
    table = {"quantity": quantity, "unit": unit, "name": name}
    return Measured.model_validate({**table, "samples": [value * factor]})


def _header(machine: Machine) -> Header:
    adapter, link = machine.adapter, machine.link
    bus = adapter.bus
    speaks = adapter.protocol.kind if isinstance(adapter, Adapter) else None
    if isinstance(link, EthernetLink):
        mtu = machine.mtu if speaks and MTU_OF[speaks] == "infiniband" else None
        port = Port(layer="ethernet", width=1, speed=float(link.gigabits), mtu=mtu)
    else:
        speed = float(LANES[link.speed].gigabits)
        port = Port(layer="infiniband", width=link.width, speed=speed, mtu=machine.mtu)
    pci = None
    if isinstance(bus, PcieDevice):
        pci = Pci(**{name: getattr(bus, name) for name in Pci.model_fields})
    return Header(
        tool=Tool(name="hcasim", version=__version__),
        device=Device(name=adapter.id, transport=TRANSPORTS[speaks] if speaks else ""),
        port=port,
        pci=pci,
        notes=(simulated_on(machine),),
    )
