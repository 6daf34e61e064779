"""Queue pairs of the dynamically connected transport, as mlx5dv has them."""

from __future__ import annotations

from hcasim.hca import Path, QPType
from hcasim.hca.qp.endpoint import NOWHERE
from hcasim.hca.qp.go_back import LONGEST_TIMEOUT, MOST_RETRIES, RETRIES, TIMEOUT
from hcasim.verbs.context import VerbsError, mtu_of
from hcasim.verbs.cq import CQ
from hcasim.verbs.memory import PD
from hcasim.verbs.qp import QP
from hcasim.verbs.receives import SRQ, Receives

KEYS = 1 << 64
"""Values of an access key."""


class DCI(QP):
    """An initiator (MLX5DV_DCTYPE_DCI): each request says which target it goes to.

    The adapter connects to that before the first request for it, and disconnects when it turns to
    another or has had nothing to do for a while. Requests are those of RC.

    Args:
        max_send_wr, max_send_sge, max_inline_data, port_num, sq_sig_all: as of `QP`.

    Raises:
        VerbsError: ``EOPNOTSUPP`` for adapters before Connect-IB; others as `QP`.

    Source: manual pages mlx5dv_create_qp and mlx5dv_wr_post.
    """

    def __init__(
        self,
        pd: PD,
        send_cq: CQ,
        *,
        max_send_wr: int = 128,
        max_send_sge: int = 1,
        max_inline_data: int = 0,
        port_num: int = 1,
        sq_sig_all: bool = False,
    ) -> None:
        super().__init__(
            pd,
            send_cq,
            send_cq,
            max_send_wr=max_send_wr,
            max_recv_wr=1,
            max_send_sge=max_send_sge,
            max_inline_data=max_inline_data,
            port_num=port_num,
            qp_type=QPType.DCI,
            sq_sig_all=sq_sig_all,
        )

    def activate(  # type: ignore[override]
        self,
        *,
        path_mtu: int | None = None,
        timeout: int = TIMEOUT,
        retry_cnt: int = RETRIES,
        rnr_retry: int = 7,
    ) -> None:
        """Bring it to ready-to-send; attributes are those of `QP.connect`."""
        for what, value, most in (
            ("timeout", timeout, LONGEST_TIMEOUT),
            ("retry_cnt", retry_cnt, MOST_RETRIES),
        ):
            if not 0 <= value <= most:
                raise VerbsError("EINVAL", f"{what} is {value}; allowed: 0 to {most}")
        adapter = self.context.adapter.description
        # Targets are taken to be like this adapter.
        reads = min(adapter.requester.outstanding, adapter.responder.outstanding)
        mtu = mtu_of(self.context, path_mtu)
        tries = timeout, retry_cnt, rnr_retry
        self._connect(Path(mtu, NOWHERE, 0, *tries, max_rd_atomic=reads))

    def _own(self) -> Receives:
        raise VerbsError("EINVAL", "a DCI receives nothing; allowed: post_recv of an SRQ")


class DCT(QP):
    """A target (MLX5DV_DCTYPE_DCT): any initiator that knows its key may send to it.

    Messages take entries of the shared receive queue. An error of an initiator ends its connection
    only.

    Args:
        dct_access_key: what initiators have to name, 64 bits.
        port_num: port it uses, from 1.

    Raises:
        VerbsError: ``EINVAL`` for a key of more bits; ``EOPNOTSUPP`` for adapters before
            Connect-IB.

    Source: manual page mlx5dv_create_qp.
    """

    def __init__(
        self, pd: PD, recv_cq: CQ, srq: SRQ, dct_access_key: int, *, port_num: int = 1
    ) -> None:
        if not 0 <= dct_access_key < KEYS:
            allowed = f"allowed: 0 to {KEYS - 1:#x}"
            raise VerbsError("EINVAL", f"dct_access_key is {dct_access_key:#x}; {allowed}")
        super().__init__(
            pd, recv_cq, recv_cq, max_send_wr=1, port_num=port_num, qp_type=QPType.DCT, srq=srq
        )
        self._qp.dc_key = dct_access_key

    @property
    def dctn(self) -> int:
        """Its number, which initiators name."""
        return self.qp_num

    def activate(  # type: ignore[override]
        self, *, path_mtu: int | None = None, min_rnr_timer_ps: int = 10_000_000
    ) -> None:
        """Bring it to the state in which it receives.

        Args:
            path_mtu: bytes; the machine's MTU by default, and that of all its initiators.
            min_rnr_timer_ps: pause in ps before an initiator tries again, if no receive is posted.
        """
        self._connect(Path(mtu_of(self.context, path_mtu), rnr_timer_ps=min_rnr_timer_ps))
