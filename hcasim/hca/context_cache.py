"""The on-chip caches of contexts and translations, whose tables are behind them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from hcasim.catalog import Cache
from hcasim.engine import Args, Call, Probe, SetAssociativeCache, Simulator, Waits
from hcasim.engine.changes import Changes
from hcasim.hca.icm import Table


class ContextCache:
    """Caches one table (QP contexts, CQ contexts, MPT or MTT) and fetches what is missing.

    A line whose entries a use changes, if those are ``written``, is written back when it leaves.

    Attributes:
        misses: lines fetched; look-ups that wait for a line on its way fetch nothing more.
        lookup_wait_ps: time that each look-up waited for those fetches, added up, in ps.
    """

    changes: ClassVar[Changes] = Changes(
        counts="accesses misses lookup_wait_ps write_backs _queued", mixed="_waiting"
    )

    def __init__(
        self, sim: Simulator, name: str, description: Cache, table: Table, *, written: bool
    ) -> None:
        self.sim = sim
        self.name = name
        self.accesses = self.misses = self.lookup_wait_ps = self.write_backs = 0
        self._table = table
        self._written = written
        self._line = description.line
        self.per_line = description.line // description.entry
        self._cache = SetAssociativeCache(description.lines, description.ways, description.policy)
        self._free = description.outstanding
        self._queued: deque[int] = deque()
        self._waiting: dict[int, list[tuple[int, Call]]] = {}
        self._probe = Probe(sim, f"{table.icm.owner}.{name}")
        self._waits = Waits(sim, self._probe.block)
        sim.resources.keeps_waiting(self._waits.name, self._waits)

    @property
    def full(self) -> bool:
        return self._cache.full

    def has(self, key: int) -> bool:
        line = key // self.per_line
        return line == self._cache.last or line in self._cache

    def held(self, key: int) -> bool:
        """Look ``key`` up if that needs no fetch; return whether it did not."""
        line = key // self.per_line
        if line == self._cache.last or self._cache.touch(line):
            self.accesses += 1
            return True
        return False

    def access(self, key: int, action: Callable[[*Args], None], *args: *Args) -> None:
        """Call ``action(*args)`` once the entry ``key`` is on chip, at once if it is."""
        self.accesses += 1
        line = key // self.per_line
        if line == self._cache.last or self._cache.touch(line):
            action(*args)
            return
        waiting = self._waiting.get(line)
        if waiting is None:
            self.misses += 1
            if self._probe.listeners:
                self._probe.level("misses", self.misses)
            self._waits.begin()
            self._waiting[line] = [(self.sim.now, Call(action, args))]
            if self._free:
                self._free -= 1
                self._table.icm.fetch(self._table, line, self)
            else:
                self._queued.append(line)
        else:
            waiting.append((self.sim.now, Call(action, args)))

    def hold(self, key: int) -> None:
        line = key // self.per_line
        self._cache.precede(line)
        self._table.hold(line)

    def arrived(self, line: int) -> None:
        victim = self._cache.fill(line)
        if victim is not None and self._written:
            self.write_backs += 1
            self._table.write_back(victim)
        if self._queued:
            self._table.icm.fetch(self._table, self._queued.popleft(), self)
        else:
            self._free += 1
        now = self.sim.now
        waiting = self._waiting.pop(line)
        if self._probe.listeners:
            self._probe.work("miss", waiting[0][0], f"line {line}")
            self._probe.level("lines", len(self._cache))
        self._waits.end()
        for since, call in waiting:
            self.lookup_wait_ps += now - since
            call.act()

    def counters(self) -> dict[str, int]:
        """Look-ups, misses, times in ps and bytes moved, under the silicon's names.

        ``wait_ps`` is what look-ups waited in all, ``fetch_ps`` what the memory took for fetches.
        """
        return {
            f"{self.name}_access_cnt": self.accesses,
            f"{self.name}_miss_cnt": self.misses,
            f"{self.name}_wait_ps": self.lookup_wait_ps,
            f"{self.name}_fetch_ps": self._table.read_ps,
            f"{self.name}_fetch_bytes": self.misses * self._line,
            f"{self.name}_writeback_bytes": self.write_backs * self._line,
        }
