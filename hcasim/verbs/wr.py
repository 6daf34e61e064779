"""Requests built one call at a time, as by the functions ibv_wr_* of libibverbs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from hcasim.engine import Event
from hcasim.verbs.ah import AH
from hcasim.verbs.context import VerbsError
from hcasim.verbs.qp import QP
from hcasim.verbs.requests import SGE, SendWR, WROpcode
from hcasim.verbs.windows import MW, BindInfo

_NONE: Final = "no request has been begun; allowed: a call such as wr_send before it"


class QPEx:
    """The requests of a queue pair between `wr_start` and `wr_complete`.

    Attributes:
        wr_id, signaled, solicited, fence: of the requests begun from now on; ``wr_flags`` there.
    """

    def __init__(self, qp: QP) -> None:
        self.qp = qp
        self.wr_id = 0
        self.signaled, self.solicited, self.fence = True, False, False
        self._wrs: list[SendWR] | None = None

    def wr_start(self) -> None:
        """Begin a list of requests; one that has not been completed is forgotten."""
        self._wrs = []

    def wr_abort(self) -> None:
        """Forget the list."""
        self._wrs = None

    def wr_complete(self) -> Generator[Event, object, list[int]]:
        """Post the list, all or none; errors are those of `QP.post_send_list`."""
        wrs, self._wrs = self._list(), None
        return self.qp.post_send_list(wrs, whole=True)

    def _list(self) -> list[SendWR]:
        if self._wrs is None:
            raise VerbsError("EINVAL", "no list has been begun; allowed: wr_start before it")
        return self._wrs

    def _add(self, opcode: WROpcode, rkey: int = 0, remote_addr: int = 0) -> SendWR:
        wr = SendWR(opcode, wr_id=self.wr_id, rkey=rkey, remote_addr=remote_addr)
        wr.signaled, wr.solicited, wr.fence = self.signaled, self.solicited, self.fence
        self._list().append(wr)
        return wr

    def _last(self) -> SendWR:
        if not self._list():
            raise VerbsError("EINVAL", _NONE)
        return self._list()[-1]

    # What they do.

    def wr_send(self) -> None:
        self._add(WROpcode.SEND)

    def wr_send_imm(self, imm_data: int) -> None:
        self._add(WROpcode.SEND_WITH_IMM).imm_data = imm_data

    def wr_send_inv(self, invalidate_rkey: int) -> None:
        self._add(WROpcode.SEND_WITH_INV).invalidate_rkey = invalidate_rkey

    def wr_rdma_write(self, rkey: int, remote_addr: int) -> None:
        self._add(WROpcode.RDMA_WRITE, rkey, remote_addr)

    def wr_rdma_write_imm(self, rkey: int, remote_addr: int, imm_data: int) -> None:
        self._add(WROpcode.RDMA_WRITE_WITH_IMM, rkey, remote_addr).imm_data = imm_data

    def wr_rdma_read(self, rkey: int, remote_addr: int) -> None:
        self._add(WROpcode.RDMA_READ, rkey, remote_addr)

    def wr_atomic_cmp_swp(self, rkey: int, remote_addr: int, compare: int, swap: int) -> None:
        wr = self._add(WROpcode.ATOMIC_CMP_AND_SWP, rkey, remote_addr)
        wr.compare_add, wr.swap = compare, swap

    def wr_atomic_fetch_add(self, rkey: int, remote_addr: int, add: int) -> None:
        self._add(WROpcode.ATOMIC_FETCH_AND_ADD, rkey, remote_addr).compare_add = add

    def wr_local_inv(self, invalidate_rkey: int) -> None:
        self._add(WROpcode.LOCAL_INV).invalidate_rkey = invalidate_rkey

    def wr_bind_mw(self, mw: MW, bind_info: BindInfo) -> None:
        wr = self._add(WROpcode.BIND_MW)
        wr.mw, wr.bind_info = mw, bind_info

    # With what: of the request begun last.

    def wr_set_sge(self, lkey: int, addr: int, length: int) -> None:
        self._last().sg_list = (SGE(addr, length, lkey),)

    def wr_set_sge_list(self, sg_list: Sequence[SGE]) -> None:
        self._last().sg_list = sg_list

    def wr_set_inline_data(self, lkey: int, addr: int, length: int) -> None:
        """Copy data into the request; here its bytes are found by the key of their region."""
        self.wr_set_inline_data_list((SGE(addr, length, lkey),))

    def wr_set_inline_data_list(self, sg_list: Sequence[SGE]) -> None:
        self._last().sg_list = sg_list
        self._last().inline = True

    def wr_set_ud_addr(self, ah: AH | int, remote_qpn: int, remote_qkey: int = 0) -> None:
        """Say where a datagram goes: the address of a port, or its LID alone, and what it names."""
        self._to(ah, remote_qpn).remote_qkey = remote_qkey

    def wr_set_dc_addr(self, ah: AH | int, remote_dctn: int, remote_dc_key: int) -> None:
        """Say which target it goes to, as mlx5dv_wr_set_dc_addr; the address may be a LID alone."""
        self._to(ah, remote_dctn).dc_key = remote_dc_key

    def _to(self, ah: AH | int, qpn: int) -> SendWR:
        last = self._last()
        if isinstance(ah, AH):
            last.ah = ah
        else:
            last.dlid = ah
        last.remote_qpn = qpn
        return last
