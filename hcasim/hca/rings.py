"""How work queues and completion queues lie in host memory."""

from __future__ import annotations

from dataclasses import dataclass

from hcasim.hca.translation import Region


class Ring:
    """A queue in registered host memory: entries, a stride of bytes apart, used in turn."""

    __slots__ = ("_first", "entries", "region", "stride")

    def __init__(self, region: Region, offset: int, stride: int, entries: int) -> None:
        self.region = region
        self._first = region.address + offset
        self.stride = stride
        self.entries = entries

    def address(self, index: int) -> int:
        """Address of the entry that the ``index``-th use of the queue takes, counted from 0."""
        return self._first + index % self.entries * self.stride


@dataclass(frozen=True)
class WorkQueueBuffer:
    """How a send and a receive queue lie in one buffer: the receive queue first."""

    send_entries: int
    send_stride: int
    receive_entries: int
    receive_stride: int

    @property
    def send_offset(self) -> int:
        return -(-self.receive_entries * self.receive_stride // self.send_stride) * self.send_stride

    @property
    def size(self) -> int:
        return self.send_offset + self.send_entries * self.send_stride

    def rings(self, memory: Region) -> tuple[Ring, Ring]:
        return (
            Ring(memory, self.send_offset, self.send_stride, self.send_entries),
            Ring(memory, 0, self.receive_stride, self.receive_entries),
        )
