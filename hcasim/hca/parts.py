"""The parts of an adapter that its engines share."""

from __future__ import annotations

from dataclasses import dataclass

from hcasim.catalog import Adapter, Cache
from hcasim.engine import Server, Simulator
from hcasim.hca.completion import CompletionEngine
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.dma import DmaEngine
from hcasim.hca.egress import Egress
from hcasim.hca.icm import Icm
from hcasim.hca.translation import TranslationTables
from hcasim.hca.transport import Transport
from hcasim.hca.wqe_cache import WqeCache


@dataclass(frozen=True, slots=True)
class Parts:
    """What the send engine, the requester and the responder work with.

    Attributes:
        name: of the adapter.
        egresses: the transmitting side of each port.
        units: processing units of the transmit pipeline.
        flight: the requests in flight whose entries are on the chip, if that is limited.
    """

    sim: Simulator
    name: str
    adapter: Adapter
    transport: Transport
    icm: Icm
    tables: TranslationTables
    dma: DmaEngine
    completions: CompletionEngine
    egresses: list[Egress]
    units: Server
    flight: WqeCache | None

    def context_cache(self, name: str, description: Cache) -> ContextCache:
        """A cache of queue pair contexts, which every use changes."""
        return ContextCache(self.sim, name, description, self.icm.table(description), written=True)
