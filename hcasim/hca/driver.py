"""What drivers know adapters by, and what these say beside the status of an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hcasim.hca.completion_queue import WCStatus
from hcasim.hca.translation import Region

_MELLANOX: Final = 0x02C9
_NETEFFECT: Final = 0x1678


@dataclass(frozen=True, slots=True)
class Device:
    """A family of adapters: the driver, the numbers of vendor and part on the bus, and firmware."""

    driver: str = ""
    vendor_id: int = 0
    vendor_part_id: int = 0
    firmware: str = ""


_DEVICES: Final = {
    "mt23108": Device("mthca", _MELLANOX, 23108),
    "mt25208": Device("mthca", _MELLANOX, 25208),
    "mt25218": Device("mthca", _MELLANOX, 25218),
    "connectx2": Device("mlx4", _MELLANOX, 26428),
    "connectx3": Device("mlx4", _MELLANOX, 4099, "2.42.5000"),
    "connect_ib": Device("mlx5", _MELLANOX, 4113, "10.16.1200"),
    "connectx4": Device("mlx5", _MELLANOX, 4115),
    "connectx4-lx": Device("mlx5", _MELLANOX, 4117, "14.31.2006"),
    "connectx5": Device("mlx5", _MELLANOX, 4119),
    "connectx6": Device("mlx5", _MELLANOX, 4123, "20.36.1010"),
    "connectx7": Device("mlx5", _MELLANOX, 4129),
    "bluefield-2": Device("mlx5", _MELLANOX, 41686),
    "bluefield-3": Device("mlx5", _MELLANOX, 41692),
    "ne010e": Device("nes", _NETEFFECT, 0x0100),
}
"""By the id of the description, or what it begins with.

Source: Linux, tables of PCI devices of mthca_main.c, mlx4/main.c, mlx5/core/main.c and nes.c;
firmware of those that the limits or measurements of the descriptions are of, where these say it.
"""


def device(adapter: str) -> Device:
    """The family of an adapter by its id; one without driver or numbers for those of a user."""
    found = Device()
    for name in sorted(_DEVICES, key=len):
        if adapter == name or adapter.startswith(f"{name}-"):
            found = _DEVICES[name]
    return found


_INVALID_KEY, _RIGHTS, _BEYOND = 0x53, 0x52, 0x33
_MLX5: Final = {
    WCStatus.WR_FLUSH_ERR: 0xF5,
    WCStatus.REM_INV_REQ_ERR: 0x8A,
    WCStatus.REM_ACCESS_ERR: 0x88,
    WCStatus.RETRY_EXC_ERR: 0x81,
    WCStatus.RNR_RETRY_EXC_ERR: 0x87,
}
_RECEIVE_FLUSHED: Final = 0xF9


def vendor_error(
    driver: str, status: WCStatus, receives: bool, region: Region | None, address: int, length: int
) -> int:
    """The vendor's code of an error; 0 where no source tells.

    Parameters:
        region: of the local key that the request names; None if there is none.
        address, length: local memory of the request.

    Source: the codes of mlx5 as seen with ConnectX-5 and -6 (unionxic/rdma-fault-characterization,
    docs/theory/05 and 06).
    """
    if driver != "mlx5":
        return 0
    if status is WCStatus.LOC_PROT_ERR:
        if region is None:
            return _INVALID_KEY
        return _RIGHTS if region.covers(address, length) else _BEYOND
    if receives:
        return _RECEIVE_FLUSHED if status is WCStatus.WR_FLUSH_ERR else 0
    return _MLX5.get(status, 0)
