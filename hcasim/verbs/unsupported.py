"""What of libibverbs is not modelled: each call by its name, which answers EOPNOTSUPP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from hcasim.verbs.errors import VerbsError

_BUFFERS: Final = "buffers that a provider allocates are not modelled; allowed: reg_mr(data=...)"
_CLOCK: Final = "an adapter's clock is not modelled; allowed: context.sim.now, in ps"
_COUNTED: Final = "counters of completions are not modelled; allowed: CQ.poll"
_COUNTERS: Final = "counters of flows are not modelled"
_DOMAIN: Final = "domains of threads are not modelled: each process has its own processor"
_ECE: Final = "options that drivers negotiate are not modelled"
_FLOW: Final = "rules that steer packets to queue pairs are not modelled"
_HINTS: Final = "hints of PCI Express where data is to go are not modelled"
_IMPORT: Final = "objects of another process are not modelled"
_QUEUES: Final = "work queues without a queue pair are not modelled; allowed: SRQ"
_XRC: Final = "XRC is not modelled; allowed: RC with SRQ"

UNSUPPORTED: Final[Mapping[str, str]] = {
    "ibv_advise_mr": "pages on demand are not modelled: all of a region are in memory",
    "ibv_alloc_buf": _BUFFERS,
    "ibv_alloc_dmah": _HINTS,
    "ibv_alloc_null_mr": "regions that nothing is written to are not modelled",
    "ibv_alloc_parent_domain": _DOMAIN,
    "ibv_alloc_td": _DOMAIN,
    "ibv_attach_counters_point_flow": _COUNTERS,
    "ibv_close_xrcd": _XRC,
    "ibv_create_comp_cntr": _COUNTED,
    "ibv_create_counters": _COUNTERS,
    "ibv_create_flow": _FLOW,
    "ibv_create_flow_action": _FLOW,
    "ibv_create_rwq_ind_table": _QUEUES,
    "ibv_create_wq": _QUEUES,
    "ibv_dealloc_dmah": _HINTS,
    "ibv_dealloc_td": _DOMAIN,
    "ibv_destroy_comp_cntr": _COUNTED,
    "ibv_destroy_counters": _COUNTERS,
    "ibv_destroy_flow": _FLOW,
    "ibv_destroy_flow_action": _FLOW,
    "ibv_destroy_rwq_ind_table": _QUEUES,
    "ibv_destroy_wq": _QUEUES,
    "ibv_dm_export_dmabuf_fd": "dma-buf is not modelled; allowed: PD.reg_dm_mr",
    "ibv_export_buf_dmabuf_fd": _BUFFERS,
    "ibv_free_buf": _BUFFERS,
    "ibv_get_srq_num": _XRC,
    "ibv_import_device": _IMPORT,
    "ibv_import_dm": _IMPORT,
    "ibv_import_mr": _IMPORT,
    "ibv_import_pd": _IMPORT,
    "ibv_inc_comp_cntr": _COUNTED,
    "ibv_inc_err_comp_cntr": _COUNTED,
    "ibv_modify_flow_action": _FLOW,
    "ibv_modify_qp_rate_limit": "rates cannot be changed; allowed: connect(static_rate=...)",
    "ibv_modify_wq": _QUEUES,
    "ibv_open_qp": _XRC,
    "ibv_open_xrcd": _XRC,
    "ibv_post_srq_ops": "matching of tags is not modelled",
    "ibv_qp_attach_comp_cntr": _COUNTED,
    "ibv_query_comp_cntr_caps": _COUNTED,
    "ibv_query_ece": _ECE,
    "ibv_query_rt_values_ex": _CLOCK,
    "ibv_read_comp_cntr": _COUNTED,
    "ibv_read_counters": _COUNTERS,
    "ibv_read_err_comp_cntr": _COUNTED,
    "ibv_reg_buf_mr": _BUFFERS,
    "ibv_reg_dmabuf_mr": "dma-buf is not modelled; allowed: reg_mr(memory='gpu')",
    "ibv_reg_mr_iova": "addresses of a region's own are not modelled; allowed: reg_mr(address=...)",
    "ibv_set_comp_cntr": _COUNTED,
    "ibv_set_ece": _ECE,
    "ibv_set_err_comp_cntr": _COUNTED,
    "ibv_unimport_dm": _IMPORT,
    "ibv_unimport_mr": _IMPORT,
    "ibv_unimport_pd": _IMPORT,
    "ibv_wr_atomic_write": "atomic writes are not modelled; allowed: RDMA writes of 8 B",
    "ibv_wr_flush": "flushes to persistent memory are not modelled",
    "ibv_wr_send_tso": "segments of TCP are not modelled",
    "ibv_wr_set_xrc_srqn": _XRC,
}
"""By name in the manual pages of rdma-core: what is missing, and what there is in its place."""

PYVERBS: Final[Mapping[str, str]] = {
    "Counters": "ibv_create_counters",
    "DmaBufMR": "ibv_reg_dmabuf_mr",
    "Flow": "ibv_create_flow",
    "ParentDomain": "ibv_alloc_parent_domain",
    "RwqIndTable": "ibv_create_rwq_ind_table",
    "TD": "ibv_alloc_td",
    "WQ": "ibv_create_wq",
    "XRCD": "ibv_open_xrcd",
}
"""Classes of pyverbs that make such objects."""


class Refusal:
    """A call that is not modelled; its arguments do not matter."""

    def __init__(self, call: str) -> None:
        self._call = call

    def __call__(self, *arguments: object, **named: object) -> NoReturn:
        raise VerbsError("EOPNOTSUPP", f"{self._call}: {UNSUPPORTED[self._call]}")


REFUSALS: Final[Mapping[str, Refusal]] = {
    name: Refusal(call)
    for name, call in (*zip(UNSUPPORTED, UNSUPPORTED, strict=True), *PYVERBS.items())
}
"""What is called by each name; names of `hcasim.verbs`, too."""
