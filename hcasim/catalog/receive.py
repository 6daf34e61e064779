"""How an adapter receives: its pipeline, and the buffer in front of it."""

from __future__ import annotations

import re
from typing import Annotated, Final, NamedTuple

from pydantic import Field, model_validator

from hcasim.catalog.link import CableLength, EthernetLink
from hcasim.catalog.section import (
    Latency,
    Section,
    Size,
    key,
    optional,
)
from hcasim.ground.errors import FaultError
from hcasim.ground.units import format_size

_Units = Annotated[int, Field(ge=1, le=1024)]

_EIGHT: Final = re.compile(r"[0-9]{1,9}(,[0-9]{1,9}){7}")
_FIRST: Final = "0,0,0,0,0,0,0,0"
_CABLE: Final = 7000
LONGEST_FRAME: Final = 9216
"""Bytes that mlx5 lets a buffer fall below the point where it pauses, before it lets go on."""
CELL: Final = 128
"""Bytes in which it reckons."""


class BufferPart(NamedTuple):
    """A part of a receive buffer: its bytes, the priorities that use it, and when it pauses them.

    ``priorities`` has a bit for each. They are paused above ``xoff`` bytes, and go on at ``xon``.
    """

    size: int
    priorities: int
    xoff: int

    @property
    def xon(self) -> int:
        return self.xoff - LONGEST_FRAME


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


class Receive(Section):
    """The receive pipeline."""

    units: _Units = key("processing units that share the packets", default=1)
    packet_service: Latency = key(
        "occupancy of a unit per packet; of several units, per first packet of a message"
    )
    latency: Latency | None = optional("delay of a packet, if it is not that of the way out")
    buffer: Size = key("link receive buffer of each port")
    buffer_size: str | None = optional(
        "bytes of up to eight parts of that, as mlnx_qos --buffer_size takes them; none: one part"
    )
    prio2buffer: str | None = optional(
        "part for each priority, as mlnx_qos --prio2buffer takes them; none: the first for all"
    )
    cable_len: CableLength | None = optional(
        "length for which each part keeps headroom where pauses are on, as mlnx_qos --cable_len "
        "sets it; none: 7 m, as mlx5 assumes"
    )

    @model_validator(mode="after")
    def _has_parts(self) -> Receive:
        for name in ("buffer_size", "prio2buffer"):
            text = getattr(self, name)
            if text is not None and not _EIGHT.fullmatch(text):
                allowed = f"eight whole numbers with commas between them, such as {_FIRST}"
                raise FaultError(self, allowed, text=f"{name} {text}")
        sizes, parts = self._sizes, _numbers(self.prio2buffer or _FIRST)
        if sum(sizes) > self.buffer:
            allowed = f"no more than receive.buffer, {format_size(self.buffer)}, together"
            raise FaultError(self, allowed, text=f"buffer_size {self.buffer_size}")
        if not all(part < len(sizes) and sizes[part] for part in parts):
            found = f"prio2buffer {self.prio2buffer or _FIRST}"
            allowed = f"parts that have room by buffer_size {self.buffer_size or self.buffer}"
            raise FaultError(self, allowed, text=found)
        return self

    @property
    def _sizes(self) -> list[int]:
        return _numbers(self.buffer_size) if self.buffer_size else [self.buffer]

    def parts(self, link: EthernetLink, mtu: int) -> list[BufferPart]:
        """The parts that priorities use, with the thresholds that mlx5's driver gives them.

        Source: Linux, drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c.
        """
        metres = (_CABLE if self.cable_len is None else self.cable_len) // 1000
        headroom = (301 + 216 * metres // 100) * max(link.gigabits, 40) + 272 * mtu // 100
        uses: dict[int, int] = {}
        for priority, part in enumerate(_numbers(self.prio2buffer or _FIRST)):
            uses[part] = uses.get(part, 0) | 1 << priority
        sizes = [(self._sizes[part], mask) for part, mask in uses.items()]
        return [BufferPart(size, mask, size - headroom) for size, mask in sizes]
