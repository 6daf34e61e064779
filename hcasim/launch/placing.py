"""Which node each program runs on: nodes that are filled in order, or those of a hostfile."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hcasim.apps.run import placement_faults
from hcasim.catalog import Machine
from hcasim.ground.errors import CatalogError, Fault, display, nearest
from hcasim.ground.reading import read_file

_LINE: Final = re.compile(r"(?P<name>\S+)(?:\s+slots\s*=\s*(?P<slots>\S+))?")
_ALLOWED: Final = "NODE, or NODE slots=N"


def filled(machine: Machine, ranks: int, ppn: int, faults: list[str]) -> list[int]:
    """The nodes of so many programs, so many on each; adds what is wrong with that."""
    faults += placement_faults(machine, ranks, ppn)
    return [rank // ppn for rank in range(ranks)]


def listed(machine: Machine, path: str, faults: list[str]) -> list[int]:
    """The nodes of a file of lines such as `node1 slots=2`, each as often as it has slots.

    Adds what is wrong with the file, or with it on this machine.
    """
    where = display(Path(path))
    try:
        lines = read_file(path).decode(errors="replace").splitlines()
    except CatalogError as error:
        faults += error.faults
        return []
    found: list[int] = []
    names = {"server": 0} | {f"node{node}": node for node in range(machine.nodes)}
    for number, line in enumerate(lines, 1):
        text, place = line.partition("#")[0].strip(), f"{where}, line {number}"
        if not text:
            continue
        if (parts := _LINE.fullmatch(text)) is None:
            faults.append(Fault(place, text, _ALLOWED))
            continue
        name, slots = parts["name"], parts["slots"] or "1"
        if name not in names:
            known = f"node0 to node{machine.nodes - 1}, the nodes of {machine.id}"
            faults.append(Fault(place, name, known, nearest(name, names)))
            continue
        node, cpus = names[name], machine.place(names[name])[0].host.cpus
        left = cpus - found.count(node)
        if slots.isdecimal() and 1 <= int(slots) <= left:
            found += [node] * int(slots)
        else:
            allowed = f"1 to {cpus} on a node, which are its processors"
            faults.append(Fault(place, text, allowed))
    if not (found or faults):
        faults.append(Fault(where, "", _ALLOWED, text="no node"))
    return found
