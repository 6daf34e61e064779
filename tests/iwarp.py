"""A machine that speaks iWARP: the known latencies of the rig, another protocol, other links.

It stands in for an adapter of the catalogue, so it is InfiniBand's in everything else.
"""

import re
import shutil
from functools import cache
from pathlib import Path

from hcasim.catalog import EthernetLink, IwarpProtocol, Machine
from tests import rig

ACK_INTERVAL = 2
LARGEST = 9216


@cache
def machine(
    mtu: int = 1500,
    *,
    changes: tuple[tuple[str, str], ...] = (),
    adapter: str = "mt25208",
    switch: bool = True,
    gigabits: int = 10,
    metres: int = 5,
    markers: bool = False,
    timestamps: bool = False,
) -> Machine:
    """The rig's machine over Ethernet, but for the changes."""
    base = rig.machine(dict(changes), adapter=adapter, switch=switch)
    card = base.adapter
    limits = card.limits.model_copy(update={"max_mtu": LARGEST, "atomics": False})
    ack = card.ack.model_copy(update={"interval": ACK_INTERVAL})
    protocol = IwarpProtocol(markers=markers, timestamps=timestamps)
    return rig.refitted(
        base,
        mtu,
        adapter=card.model_copy(update={"protocol": protocol, "limits": limits, "ack": ack}),
        link=EthernetLink(gigabits=gigabits, cable_length=metres * 1000, propagation=5000),
    )


ADAPTER, TESTBED = "rnic", "ethernet"
_SNAPSHOTS = Path(__file__).parent / "unit" / "catalog" / "data"
_LINK = """kind = "ethernet"
gigabits = { value = 10, evidence = "assumed", source = "invented" }
cable_length = { value = "5 m", evidence = "assumed", source = "invented" }
propagation = { value = "5 ns/m", evidence = "assumed", source = "invented" }
"""
_PROTOCOL = """kind = "iwarp"
markers = { value = false, evidence = "assumed", source = "invented" }
timestamps = { value = false, evidence = "assumed", source = "invented" }
"""


def catalogue(folder: Path) -> None:
    """Copy the snapshots of the catalogue and add an iWARP adapter and a testbed with Ethernet."""
    shutil.copytree(_SNAPSHOTS, folder, dirs_exist_ok=True)
    _derive(
        folder / "models" / "adapters" / "mt25208.toml",
        ADAPTER,
        ('id = "mt25208"', f'id = "{ADAPTER}"'),
        ('kind = "infiniband"\n', _PROTOCOL),
        ("interval = { value = 32", f"interval = {{ value = {ACK_INTERVAL}"),
        ('max_mtu = { value = "2048 B"', 'max_mtu = { value = "9000 B"'),
        ("atomics = { value = true", "atomics = { value = false"),
    )
    _derive(
        folder / "models" / "testbeds" / "liu2004.toml",
        TESTBED,
        ('id = "liu2004"', f'id = "{TESTBED}"'),
        ('adapters = ["mt23108", "mt25208"]', f'adapters = ["{ADAPTER}"]'),
        ('default_adapter = "mt25208"', f'default_adapter = "{ADAPTER}"'),
        ('mtu = { value = "1024 B"', 'mtu = { value = "1500 B"'),
    )


def _derive(source: Path, name: str, *edits: tuple[str, str]) -> None:
    text = source.read_text()
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {source}"
        text = text.replace(old, new)
    fitted = '{ evidence = "fitted", fit = "liu2004", '
    text = text.replace(fitted, '{ value = "1 us", evidence = "assumed", ')
    text = re.sub(r"(?s)\[link\]\n.*", "[link]\n" + _LINK, text)
    source.with_name(f"{name}.toml").write_text(text)
