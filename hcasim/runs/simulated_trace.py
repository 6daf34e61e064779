"""Simulated benchmarks as traces, as if a machine had been measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hcasim import __version__
from hcasim.catalog import Adapter, EthernetLink, Machine, PcieDevice
from hcasim.catalog.link import LANES
from hcasim.catalog.protocol import MTU_OF
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
)
from hcasim.workloads import find_workload
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark


def has_trace(workload: str) -> bool:
    """Whether a trace can hold what a workload measures."""
    found = find_workload(workload)
    return found is None or any(map(traced, found.fields))


def to_trace(result: Benchmark) -> Trace:
    """Return a simulated benchmark as a trace; each point has one sample, which is exact."""
    workload = find_workload(result.workload)
    assert workload is not None
    points = []
    for row, changed in zip(result.curve.rows, result.changed, strict=True):
        swept = {name: row[name] for name in AXES if name in row}
        options: dict[str, Any] = changed | {
            name: value for name, value in swept.items() if name in workload.options
        }
        measured = tuple(
            _measured(field, row[field])
            for field in workload.fields
            if traced(field) and field in row
        )
        points.append(Point(workload=result.workload, options=options, measured=measured))
    return Trace(_header(result.machine), tuple(points))


def with_noise(trace: Trace, *, seed: int, spread: float, samples: int) -> Trace:
    """Return a trace as a machine would give it whose times vary from one sample to the next.

    Parameters:
        trace: of one exact sample for each quantity.
        seed: of the noise; the same seed gives the same trace.
        spread: relative standard deviation of a sample; samples are normal.
        samples: of each quantity.
    """
    import numpy as np

    rng = np.random.default_rng(seed)

    def noisy(one: Measured) -> Measured:
        (exact,) = one.samples
        values = exact * (1 + spread * rng.standard_normal(samples))
        return one.model_copy(update={"samples": tuple(max(v, 0.0) for v in values.tolist())})

    points = tuple(
        one.model_copy(update={"measured": tuple(noisy(part) for part in one.measured)})
        for one in trace.points
    )
    return replace(trace, points=points)


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
        pci = Pci(
            generation=bus.generation,
            lanes=bus.lanes,
            max_payload=bus.max_payload,
            max_read_request=bus.max_read_request,
        )
    return Header(
        tool=Tool(name="hcasim", version=__version__),
        device=Device(name=adapter.id, transport=TRANSPORTS[speaks] if speaks else ""),
        port=port,
        pci=pci,
        notes=(simulated_on(machine),),
    )
