"""A memory for tests of what lies in front of one."""

from hcasim.bus import Storage
from hcasim.engine import Action, Simulator


class FakeStorage(Storage):
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

    def start_read(
        self, address: int, size: int, here: Action, issued: Action | None = None
    ) -> None:
        self.log.append(("read", int(self.sim.now), address, size))
        self.reads += 1
        self._under_way += 1
        self.most_reads = max(self.most_reads, self._under_way)
        self.sim.call_after(self.latency_ps, self._done, here)
        if issued is not None:
            issued.act()

    def _done(self, here: Action) -> None:
        self._under_way -= 1
        here.act()

    def start_write(
        self, address: int, size: int, sent: Action | None, visible: Action | None
    ) -> None:
        self.log.append(("write", int(self.sim.now), address, size))
        for action in (sent, visible):
            if action is not None:
                action.act()
