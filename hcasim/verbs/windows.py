"""Memory windows: parts of regions that are opened to others under keys of their own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from hcasim.hca import Access, Region
from hcasim.verbs.context import VerbsError
from hcasim.verbs.memory import MR, PD

CLOSED: Final = Access(0)
"""Rights of nobody."""


@dataclass(frozen=True)
class BindInfo:
    """What a window opens: bytes of a region registered with MW_BIND; none closes it."""

    mr: MR
    addr: int
    length: int
    access: Access = CLOSED


class MWType(Enum):
    """Whom a window is open to; the numbers are those of libibverbs.

    All queue pairs of its protection domain may be asked for a window of type 1, and only the one
    that has bound it for one of type 2.
    """

    TYPE_1 = 1
    TYPE_2 = 2


class MW:
    """A memory window; its ``rkey`` changes each time that it is bound.

    Raises:
        VerbsError: ``EOPNOTSUPP`` if the adapter does not take requests that change keys.
    """

    def __init__(self, pd: PD, mw_type: MWType = MWType.TYPE_1) -> None:
        description = pd.context.adapter.description
        if description.umr is None:
            raise VerbsError("EOPNOTSUPP", f"memory windows; {description.id} has none")
        self.pd = pd
        self.mw_type = mw_type
        self.rkey = 0
        self._mr: MR | None = None

    def bound(self, info: BindInfo, qpn: int) -> tuple[Region | None, int]:
        """(the region behind the next key, or None if it is closed, the key that is given up)."""
        tables, given_up = self.pd.context.adapter.tables, self.rkey
        self._bind(info.mr if info.length else None)
        if not info.length:
            self.rkey = 0
            return None, given_up
        only = qpn if self.mw_type is MWType.TYPE_2 else 0
        region = tables.window(info.mr.region, info.addr, info.length, info.access, only)
        self.rkey = region.key
        return region, given_up

    def _bind(self, mr: MR | None) -> None:
        if self._mr is not None:
            self._mr.windows -= 1
        if mr is not None:
            mr.windows += 1
        self._mr = mr

    def fault(self, info: BindInfo) -> str:
        """What is wrong with binding it so, or nothing."""
        region = info.mr.region
        if region.pd != self.pd.handle:
            return "a region of another protection domain"
        if not region.access & Access.MW_BIND:
            return "a region that was not registered with MW_BIND"
        if info.length and not region.covers(info.addr, info.length):
            return f"{info.length} bytes from {info.addr} on, which the region does not hold"
        if info.access & Access.REMOTE_WRITE and not region.access & Access.LOCAL_WRITE:
            return "remote write access to a region without local write access"
        if not info.length and not self.rkey:
            return "0 bytes, but the window is closed already"
        return ""

    def dealloc(self) -> None:
        """Close the window."""
        if self.rkey:
            self.pd.context.adapter.tables.invalidate(self.rkey, self.pd.handle)
            self.rkey = 0
            self._bind(None)
