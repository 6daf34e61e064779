"""rdma-core's own tests of libibverbs and librdmacm, which it has for pyverbs, as a judge."""

import gzip
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from hcasim.launch import launch
from hcasim.runs.machine import find_machine
from tests.programs import give_up, program

PYTHON: Final = "/usr/bin/python3"
"""Debian's, which has pyverbs."""
TESTS: Final = Path("/usr/share/doc/rdma-core/tests")
PYVERBS: Final = Path("/usr/lib/python3/dist-packages/pyverbs")
RUNNER: Final = Path(__file__).with_name("pyverbs_suite.py")
OF_VENDORS: Final = ("test_mlx5", "test_efa", "test_cuda")
TESTBED, DEVICE = "roce-100g", "mlx5_0"


def of(cls: str, *names: str) -> dict[str, str]:
    return dict.fromkeys([f"{cls}.test_{name}" for name in names], "")


def because(reason: str, *some: dict[str, str]) -> dict[str, str]:
    return {name: reason for one in some for name in one}


SKIPPED: Final = {
    **because(
        "XRC is not modelled",
        of("test_atomic.AtomicTest", "xrc_atomic_cmp_and_swap", "xrc_atomic_fetch_and_add"),
        of("test_cqex.CqExTestCase", "xrc_traffic_cq_ex"),
        of("test_odp.OdpTestCase", "odp_xrc_traffic"),
        of("test_qpex.QpExTestCase", "qp_ex_xrc_send", "qp_ex_xrc_send_imm"),
        of("test_relaxed_ordering.RoTestCase", "ro_xrc_traffic"),
    ),
    **because(
        "paging on demand is not modelled",
        of(
            "test_odp.OdpTestCase",
            *("odp_async_prefetch_rc_traffic", "odp_implicit_async_prefetch_rc_traffic"),
            *("odp_implicit_rc_traffic", "odp_implicit_sync_prefetch_rc_traffic"),
            "odp_prefetch_async_no_page_fault_rc_traffic",
            "odp_prefetch_sync_no_page_fault_rc_traffic",
            *("odp_rc_atomic_cmp_and_swp", "odp_rc_atomic_fetch_and_add", "odp_rc_huge_traffic"),
            *("odp_rc_huge_user_addr_traffic", "odp_rc_rdma_read", "odp_rc_rdma_write"),
            *("odp_rc_srq_traffic", "odp_rc_traffic", "odp_sync_prefetch_rc_traffic"),
            "odp_ud_traffic",
        ),
    ),
    **because(
        "queue pairs of raw packets are not modelled",
        of("test_flow.FlowTest", *(f"{one}_spec_flow_traffic" for one in ("eth", "ipv4", "ipv6"))),
        of("test_flow.FlowTest", "tcp_spec_flow_traffic", "udp_spec_flow_traffic"),
        of("test_rss_traffic.RSSTrafficTest", "rss_traffic"),
        of(
            "test_qp.QPTest",
            *("create_raw_qp_ex_no_attr", "create_raw_qp_ex_with_attr", "create_raw_qp_no_attr"),
            *("create_raw_qp_with_attr", "query_raw_qp"),
        ),
    ),
    **because(
        "matching of tags is not modelled",
        of("test_tag_matching.TMTest", "tm_no_tag", "tm_rndv", "tm_traffic", "tm_unexpected_tag"),
    ),
    **because(
        "atomic writes are not modelled", of("test_qpex.QpExTestCase", "qp_ex_rc_atomic_write")
    ),
    **because(
        "contexts and their objects are not shared between programs",
        of("test_device.SharedDMTest", "import_dm"),
        of("test_shared_pd.SharedPDTestCase", "imported_rc_ex_rdma_write"),
    ),
    **because(
        "tables of GIDs have no empty entries",
        of("test_device.DeviceTest", "query_gid_ex_bad_flow"),
    ),
}
OF_COMPUTER: Final = {
    **because(
        "it needs a graphics processor whose memory can be shared",
        of(
            "test_mr.DmaBufMRTest",
            *(f"dmabuf_{one}" for one in ("dereg_mr", "dereg_mr_twice", "lkey", "read", "reg_mr")),
            *("dmabuf_reg_mr_bad_flags", "dmabuf_rkey", "dmabuf_write"),
        ),
        of("test_mr.DmaBufTestCase", "dmabuf_rc_traffic", "dmabuf_rdma_traffic"),
    ),
    **because(
        "it needs huge pages",
        of("test_parent_domain.ParentDomainTrafficTest", "huge_page_traffic"),
    ),
}
"""They are skipped, where the computer has not what they need."""
SOME: Final = (
    "test_cq.CQTest.test_resize_cq",
    "test_device.DMTest.test_multi_process_alloc_dm",
    "test_mr.DeviceMemoryTest",
    "test_mr.MRTest.test_mr_rereg_access",
    "test_mr.MWTest",
    "test_parent_domain.ParentDomainTrafficTest.test_mem_align_srq_excq_rc_traffic",
    "test_qpex.QpExTestCase.test_qp_ex_rc_bind_mw",
    "test_qpex.QpExTestCase.test_qp_ex_rc_atomic_write",
    "test_rdmacm.CMTestCase.test_rdmacm_async_traffic_external_qp",
)
"""Tests of what only these tests use, for a short form."""


def outcomes(folder: Path, names: Sequence[str] = ()) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and what came of each test that is not one of a vendor, and why."""
    program("cc", "gcc")
    if not TESTS.is_dir() or not PYVERBS.is_dir():
        give_up("pyverbs is missing; on Debian: apt install python3-pyverbs")
    suite, told = folder / "suite", folder / "outcomes.json"
    suite.mkdir()
    for path in TESTS.iterdir():
        if path.name.startswith(OF_VENDORS):
            continue
        if path.suffix == ".gz":
            (suite / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        elif path.suffix == ".py":
            shutil.copy(path, suite)
    command = [PYTHON, "-E", os.fspath(RUNNER), os.fspath(suite), DEVICE, os.fspath(told), *names]
    code = launch(find_machine(TESTBED, {}, mpi=False), [command]).codes[0]
    return code, {name: (what, why) for name, (what, why) in json.loads(told.read_text()).items()}


@pytest.mark.check
def test_all_pass_but_those_that_are_named(tmp_path: Path) -> None:
    code, found = outcomes(tmp_path)
    kinds = {name: what for name, (what, _) in found.items()}
    named = dict.fromkeys(SKIPPED, "skipped")
    other = {name: found[name] for name, what in kinds.items() if what != named.get(name, "ok")}
    for name in OF_COMPUTER:
        if other.get(name, ("",))[0] == "skipped":
            del other[name]
    assert (code, other) == (0, {})
    assert len(found) >= 170
    assert sum(what == "ok" for what in kinds.values()) >= 117


def test_some_pass(tmp_path: Path) -> None:
    code, found = outcomes(tmp_path, SOME)
    assert code == 0
    assert {name: told for name, told in found.items() if told[0] != "ok"} == {
        "test_qpex.QpExTestCase.test_qp_ex_rc_atomic_write": (
            "skipped",
            "Extended QP is not supported on this device",
        )
    }
    assert len(found) == 16
