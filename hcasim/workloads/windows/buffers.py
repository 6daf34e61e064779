"""Buffers that are used again and again, and others whose translations have to be fetched."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.catalog import Adapter
from hcasim.verbs import MR, PD, Access
from hcasim.workloads.options import Options

ALL = 100


def is_mixed(reuse: int) -> bool:
    """Whether some messages reuse the same buffer and others do not.

    Args:
        reuse: percentage of the messages that use the same buffer.
    """
    return 0 < reuse < ALL


class FurtherBuffers:
    """The buffers of those messages of a process that do not reuse the common one.

    A percentage of the messages reuses one buffer, spread evenly over all of them; each of the
    others takes the next of these in turn. Unless the author of the benchmark says how many, there
    are so many that the adapter no longer holds the translations of any of them when it has its
    turn again. They are registered when they are
    first used, which takes no simulated time. The method is that of MIBA, which sur2005 section
    4.3 uses.

    Args:
        pd: where to register them.
        options: size, page size and percentage of reuse.
        access: what they are registered for.
        on_new: is told of each one.
    """

    def __init__(
        self,
        pd: PD,
        options: Options,
        access: Access,
        on_new: Callable[[MR], object] = lambda _: None,
    ) -> None:
        self._pd = pd
        self._options = options
        self._access = access
        self._on_new = on_new
        self._count = options.buffers
        if options.buffers == 1:
            self._count = enough_buffers(pd.context.adapter.description, options)
        self._registered: list[MR] = []

    def find(self, message: int) -> MR | None:
        """The buffer of a message, counted from 0, or None if it reuses the common one."""
        reuse = self._options.reuse
        before = message * reuse // ALL
        if (message + 1) * reuse // ALL > before:
            return None
        turn = (message - before) % self._count
        while turn >= len(self._registered):
            options = self._options
            mr = self._pd.reg_mr(options.size, self._access, page_size=options.page_size)
            self._registered.append(mr)
            self._on_new(mr)
        return self._registered[turn]


def enough_buffers(adapter: Adapter, options: Options) -> int:
    """How many buffers it takes to displace their own translations from both caches.

    Twice the capacity leaves none behind even where the sets of a cache fill unevenly.
    """
    pages = -(-options.size // options.page_size)
    return 1 + 2 * max(adapter.mpt.entries, adapter.mtt.entries // pages)
