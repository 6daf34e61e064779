"""A memory for tests of what lies in front of one."""

from collections.abc import Callable

from hcasim.engine import Simulator


class FakeStorage:
    """Answers any number of reads at a time after a fixed time, and notes all that it is asked.

    Attributes:
        log: kind, time in ps, address and size of each access.
        most_reads: the most reads that were under way at once.
    """

    def __init__(self, sim: Simulator, latency_ps: int) -> None:
        self.sim = sim
        self.latency_ps = latency_ps
        self.log: list[tuple[str, int, int, int]] = []
        self.reads = self._under_way = self.most_reads = 0

    def read(
        self,
        address: int,
        size: int,
        on_data: Callable[..., None],
        *args: object,
        on_issued: Callable[[], None] | None = None,
    ) -> None:
        self.log.append(("read", int(self.sim.now), address, size))
        self.reads += 1
        self._under_way += 1
        self.most_reads = max(self.most_reads, self._under_way)
        self.sim.call_after(self.latency_ps, self._done, on_data, args)
        if on_issued is not None:
            on_issued()

    def _done(self, on_data: Callable[..., None], args: tuple[object, ...]) -> None:
        self._under_way -= 1
        on_data(*args)

    def write(
        self,
        address: int,
        size: int,
        on_sent: Callable[[], None] | None = None,
        on_visible: Callable[[], None] | None = None,
    ) -> None:
        self.log.append(("write", int(self.sim.now), address, size))
        for call in (on_sent, on_visible):
            if call is not None:
                call()
