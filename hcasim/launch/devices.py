"""The adapter of a node, as libibverbs tells of devices.

Structures of libibverbs come as they are in a program's memory.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from struct import Struct
from typing import Final

from hcasim.catalog import IwarpProtocol
from hcasim.hca.driver import device
from hcasim.launch.channel import Question
from hcasim.launch.session import DONE, Answer, Thread, call
from hcasim.verbs import Context, VerbsError
from hcasim.verbs.address import GIDType
from hcasim.verbs.device import DeviceAttr, LinkLayer, PortAttr

_DEVICE: Final = Struct("@64s8s8s2Q3I2iI26iH2B")
_DEVICE_NAMES: Final = (
    "max_mr_size page_size_cap vendor_id vendor_part_id hw_ver max_qp max_qp_wr device_cap_flags"
    " max_sge max_sge_rd max_cq max_cqe max_mr max_pd max_qp_rd_atom max_ee_rd_atom max_res_rd_atom"
    " max_qp_init_rd_atom max_ee_init_rd_atom atomic_cap max_ee max_rdd max_mw max_raw_ipv6_qp"
    " max_raw_ethy_qp max_mcast_grp max_mcast_qp_attach max_total_mcast_qp_attach max_ah max_fmr"
    " max_map_per_fmr max_srq max_srq_wr max_srq_sge max_pkeys local_ca_ack_delay phys_port_cnt"
)
_PORT: Final = Struct("@3Ii4I3H10BH")
_PORT_NAMES: Final = (
    "state max_mtu active_mtu gid_tbl_len port_cap_flags max_msg_sz bad_pkey_cntr qkey_viol_cntr"
    " pkey_tbl_len lid sm_lid lmc max_vl_num sm_sl subnet_timeout init_type_reply active_width"
    " active_speed phys_state link_layer flags port_cap_flags2"
)
_UNDERSCORED: Final = ("mlx4", "mlx5")
"""Drivers that number their devices behind an underscore."""


def device_name(context: Context) -> str:
    """What the driver calls the adapter."""
    driver = device(context.adapter.description.id).driver or "hca"
    return f"{driver}_0" if driver in _UNDERSCORED else f"{driver}0"


def _numbers(attr: DeviceAttr | PortAttr, names: str) -> list[int]:
    return [int(getattr(attr, name)) for name in names.split()]


def _made(make: Callable[[], Answer]) -> Answer:
    try:
        return make()
    except VerbsError as error:
        return getattr(errno, error.errno), (), b""


@call("DEVICE")
def _device(thread: Thread, question: Question) -> Answer:
    """Words: number of the device. They tell GUID, vectors of interrupts, whether it is iWARP."""
    context = thread.context
    if question.words[0]:
        return errno.ENODEV, (), b""
    iwarp = isinstance(context.adapter.description.protocol, IwarpProtocol)
    words = context.query_device().node_guid, len(context.node.cores), int(iwarp)
    return 0, words, device_name(context).encode()


@call("OPEN_DEVICE")
def _open_device(thread: Thread, question: Question) -> Answer:
    """Words: number of the device, descriptor in the process of the pipe that events go into."""
    return 0, (thread.process.open(question.words[1]),), b""


@call("CLOSE_DEVICE")
def _close_device(thread: Thread, question: Question) -> Answer:
    thread.process.close(question.words[0])
    return DONE


@call("QUERY_DEVICE")
def _query_device(thread: Thread, question: Question) -> Answer:
    """The word of the answer is max_dm_size."""
    attr = thread.context.query_device()
    guids = (attr.node_guid.to_bytes(8), attr.sys_image_guid.to_bytes(8))
    numbers = _numbers(attr, _DEVICE_NAMES)
    return 0, (attr.max_dm_size,), _DEVICE.pack(attr.fw_ver.encode(), *guids, *numbers)


@call("QUERY_PORT")
def _query_port(thread: Thread, question: Question) -> Answer:
    """Words: device, port."""

    def told() -> Answer:
        attr = thread.context.query_port(question.words[1])
        return 0, (), _PORT.pack(*_numbers(attr, _PORT_NAMES))

    return _made(told)


@call("QUERY_GID")
def _query_gid(thread: Thread, question: Question) -> Answer:
    """Words: device, port, place in its table. They tell the type."""

    def told() -> Answer:
        entry = thread.context.query_gid_ex(*question.words[1:3])
        return 0, (entry.gid_type.value,), entry.gid.packed

    return _made(told)


@call("QUERY_PKEY")
def _query_pkey(thread: Thread, question: Question) -> Answer:
    """Words: device, port, place in its table. They tell the key."""
    return _made(lambda: (0, (thread.context.query_pkey(*question.words[1:3]),), b""))


@call("QUERY_FILE")
def _query_file(thread: Thread, question: Question) -> Answer:
    """What the kernel's file at a path under /sys/class/infiniband says; the bytes are the path."""
    name, _, path = question.data.decode(errors="replace").partition("/")
    if name != device_name(thread.context):
        return errno.ENOENT, (), b""

    def told() -> Answer:
        text = _file(thread.context, path)
        return (errno.ENOENT, (), b"") if text is None else (0, (), text.encode())

    return _made(told)


def _file(context: Context, path: str) -> str | None:
    iwarp = isinstance(context.adapter.description.protocol, IwarpProtocol)
    attr = context.query_device()
    guid = f"{attr.node_guid:016x}"
    known = {
        "fw_ver": attr.fw_ver,
        "node_type": "4: RNIC" if iwarp else "1: CA",
        "node_guid": ":".join(re.findall("....", guid)),
    }
    within = re.fullmatch(r"ports/(\d+)/(\w+)(?:/(\w+)/|/)?(\d+)?", path)
    if within is None:
        return known.get(path) or None
    number, kind, part, index = int(within[1]), within[2], within[3], int(within[4] or 0)
    if kind == "gids":
        return ":".join(re.findall("....", f"{int(context.query_gid(number, index)):032x}"))
    if kind == "pkeys":
        return f"{context.query_pkey(number, index):#06x}"
    if (kind, part) == ("gid_attrs", "types"):
        second = context.query_gid_ex(number, index).gid_type is GIDType.ROCE_V2
        return "RoCE v2" if second else "IB/RoCE v1"
    port = context.query_port(number)
    ethernet = port.link_layer is LinkLayer.ETHERNET
    return {
        "link_layer": "Ethernet" if ethernet else "InfiniBand",
        "lid": f"{port.lid:#x}",
        "sm_lid": f"{port.sm_lid:#x}",
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
    }.get(kind)
