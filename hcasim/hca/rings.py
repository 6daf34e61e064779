"""How work queues and completion queues lie in host memory."""

from __future__ import annotations

from dataclasses import dataclass

from hcasim.hca.translation import Region


class Ring:
    """A queue in host memory: entries of one stride, used in turn.

    Attributes:
        region: the registered memory that it lies in.
        stride: bytes from one entry to the next.
        entries: how many there are.
    """

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
    """How a send and a receive queue lie in one buffer: the receive queue first.

    Attributes:
        send_entries: entries of the send queue.
        send_stride: bytes from one of them to the next.
        receive_entries: entries of the receive queue.
        receive_stride: bytes from one of them to the next.
    """

    send_entries: int
    send_stride: int
    receive_entries: int
    receive_stride: int

    @property
    def send_offset(self) -> int:
        """Bytes from the start of the buffer to the send queue."""
        return -(-self.receive_entries * self.receive_stride // self.send_stride) * self.send_stride

    @property
    def size(self) -> int:
        """Bytes of the buffer."""
        return self.send_offset + self.send_entries * self.send_stride

    def rings(self, memory: Region) -> tuple[Ring, Ring]:
        """The send and the receive queue in a region that holds the buffer."""
        return (
            Ring(memory, self.send_offset, self.send_stride, self.send_entries),
            Ring(memory, 0, self.receive_stride, self.receive_entries),
        )
