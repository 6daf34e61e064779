"""The header of a trace: by what it was measured, and on what."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, lt=2**63)]


def as_tuple(value: object) -> object:
    """Return a list of JSON as a record keeps it."""
    return tuple(value) if isinstance(value, list) else value


class Record(BaseModel):
    """A line, or a part of one: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Tool(Record):
    """What measured.

    Parameters:
        name: "hcasim-probes", "perftest", "osu", "imb", "netpipe" or "hcasim".
        version: as the tool prints it; empty if it does not.
        command: the command line, if it is known.
    """

    name: Literal["hcasim-probes", "perftest", "osu", "imb", "netpipe", "hcasim"]
    version: str = ""
    command: str = ""


class Device(Record):
    """The adapter as its driver names it.

    Parameters:
        name: such as "mlx5_0".
        vendor_id, part_id: as ibv_query_device gives them.
        firmware: version.
        driver: kernel module, such as "rdma_rxe".
        transport: what it speaks.
    """

    name: str = ""
    vendor_id: int | None = None
    part_id: int | None = None
    firmware: str = ""
    driver: str = ""
    transport: Literal["", "infiniband", "roce", "iwarp"] = ""


TRANSPORTS: Mapping[str, Literal["infiniband", "roce", "iwarp"]] = MappingProxyType(
    {"infiniband": "infiniband", "rocev2": "roce", "iwarp": "iwarp"}
)
"""By the kind of the protocol in an adapter's description."""


class Port(Record):
    """The link of the port that was used.

    Parameters:
        layer: InfiniBand or Ethernet.
        width: lanes, or None.
        speed: Gbit/s of a lane, or None.
        mtu: path MTU of verbs in bytes, or None.
    """

    layer: Literal["", "infiniband", "ethernet"] = ""
    width: Count | None = None
    speed: Number | None = None
    mtu: Count | None = None


class Pci(Record):
    """The adapter's slot, from sysfs.

    Parameters:
        generation: of PCI Express.
        lanes: width of the link.
        max_payload, max_read_request: bytes, or None where configuration space cannot be read.
    """

    generation: Annotated[int, Field(ge=1, le=7)] | None = None
    lanes: Count | None = None
    max_payload: Count | None = None
    max_read_request: Count | None = None


class Host(Record):
    """The machine.

    Parameters:
        cpu: model name.
        cpus: processors that the system sees, or None.
        kernel: release.
    """

    cpu: str = ""
    cpus: Count | None = None
    kernel: str = ""


class Clock(Record):
    """How ticks became nanoseconds.

    Parameters:
        source: "tsc" or "monotonic".
        hz: ticks per second as fitted, or None if the source gives nanoseconds.
        error_ppm: how far the fit is off, in parts per million.
        overhead_ns: what reading the clock takes.
    """

    source: Text
    hz: Number | None = None
    error_ppm: Number | None = None
    overhead_ns: Number | None = None


class Plan(Record):
    """The list of points that was asked for.

    Parameters:
        sha256: of the plan file.
        seed: of its order.
        points: how many there are.
    """

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    seed: int
    points: Count


class Header(Record):
    """The first line of a trace.

    Parameters:
        tool: what measured.
        source: the file that was imported and its sha256, as "<name> <sha256>"; empty if the tool
            wrote the trace itself.
        device, port, pci, host, clock, plan: as far as the tool tells.
        notes: what a reader should know, such as a repair of invalid JSON.
    """

    record: Literal["header"] = "header"
    # Named so that the key of the file does not hide a method of the base class.
    schema_: Annotated[Literal["hcasim-trace"], Field(alias="schema")] = "hcasim-trace"
    version: Literal[1] = 1
    tool: Tool
    source: str = ""
    created: str = ""
    device: Device = Device()
    port: Port = Port()
    pci: Pci | None = None
    host: Host = Host()
    clock: Clock | None = None
    plan: Plan | None = None
    notes: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)
