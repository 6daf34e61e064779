"""From ids and what-if settings to one frozen machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike, fspath
from typing import Any

from pydantic import ValidationError

from hcasim.catalog.adapter import Adapter
from hcasim.catalog.assembly import Assembly, models_of, trunks_of
from hcasim.catalog.fields import leaf_paths
from hcasim.catalog.fitting import contradictions, train
from hcasim.catalog.folders import find_file
from hcasim.catalog.link import MTUS, PortLink, mtu_fault, roce_mtu
from hcasim.catalog.loader import load
from hcasim.catalog.model_file import Loaded
from hcasim.catalog.network.topologies import BackToBack, Network, OneSwitch
from hcasim.catalog.overrides import PREFIXES, as_texts, override
from hcasim.catalog.part import BUS, BUS_KIND, Part
from hcasim.catalog.protocol import LINK_OF
from hcasim.catalog.provenance import CHOSEN, SET, Parameter, Value
from hcasim.catalog.resolved import Machine, NodeGroup
from hcasim.catalog.testbed import Nodes, Testbed
from hcasim.ground.errors import (
    ID,
    CatalogError,
    Fault,
    flag_fault,
    name_fault,
    refuse,
    settings_fault,
)
from hcasim.ground.text import plain
from hcasim.ground.units import UnitError, parse_size

_COUNT = re.compile(r"nodes\.(.*\.)?count")
"""The paths of how many nodes a testbed has, or each group of them."""


def resolve(
    testbed_id: str | PathLike[str],
    *,
    adapter: str | PathLike[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    mtu: int | str | None = None,
    switch: bool | str | PathLike[str] = True,
    firmware_mode: str | None = None,
    stack: str | PathLike[str] | None = None,
    host: str | PathLike[str] | None = None,
    mpi: bool = False,
) -> Machine:
    """Put a machine together.

    Parameters:
        testbed_id: a testbed, such as "liu2004", or the path of its file.
        adapter: an adapter's id or file instead of the testbed's default, in every group of
            nodes; it need not be one that was measured there.
        overrides: what-if settings by path, such as {"adapter.bus.lanes": 4}, as values or as text.
        mtu: bytes instead of the testbed's, as a number or as text such as "2K".
        switch: False connects two hosts back to back; an id or file is that of the switches
            instead of the testbed's, or of one between hosts that are back to back there.
        firmware_mode: of the adapter instead of its usual one: "tavor", "mem" or "memfree".
        stack: a stack's id or file instead of the testbed's, in every group of nodes.
        host: a host's id or file instead of the testbed's, in every group of nodes.
        mpi: whether MPI programs will run there, for which a testbed may have another stack.

    Returns:
        The machine, frozen.

    Raises:
        CatalogError: with every fault of the request and of the files it uses.
    """
    given = {"adapter": adapter, "stack": stack, "host": host}
    refuse(
        name_fault("testbed", testbed_id),
        *(name_fault(name, one) for name, one in given.items() if one is not None),
        settings_fault(overrides),
        flag_fault("switch", switch, ID) if name_fault("switch", switch) else "",
    )
    settings = as_texts(overrides)
    adapter, stack, host = (None if one is None else fspath(one) for one in (adapter, stack, host))
    try:
        bed = load(fspath(testbed_id), "testbeds")
    except CatalogError as error:
        if adapter is not None:
            try:
                find_file(adapter, "adapters")
            except CatalogError as unknown:
                raise CatalogError(error.faults + unknown.faults) from None
        raise
    testbed = bed.model
    assert isinstance(testbed, Testbed)
    # Back to back are two nodes of the only group, or one of each of the first two.
    groups = testbed.nodes if switch else dict(islice(testbed.nodes.items(), 2))
    network: Network = testbed.network if switch else BackToBack()
    if isinstance(switch, str | PathLike):
        if isinstance(network, BackToBack):
            network = OneSwitch(switch="")
        network = network.model_copy(update={"switch": fspath(switch)})
    assembly = Assembly(bed, groups, network, settings)
    stacks = {name: stack or (mpi and one.mpi_stack) or one.stack for name, one in groups.items()}
    assembly.gather(adapter, host, stacks, mpi)
    parts, faults, adapters = assembly.parts, assembly.faults, assembly.of("adapter")
    if firmware_mode is not None:
        faults += [fault for part in adapters for fault in _choose_firmware(part, firmware_mode)]
    if "mtu" in settings:
        if mtu is not None:
            faults.append(Fault("--set mtu", mtu, "", said="contradicts --mtu; leave one out"))
        mtu = settings["mtu"]
    counts = {p.path for p in bed.parameters if _COUNT.fullmatch(p.path)}
    done = {"mtu", BUS, BUS_KIND, "adapter.protocol.kind"} | counts
    done.update(*(part.bus_paths + part.choosing("protocol") for part in adapters))
    found = {path: "" for path in settings if path not in done}
    # What is said of all comes before what is said of one group.
    for path in sorted(found, key=lambda path: path.partition(".")[0] not in PREFIXES):
        found[path] = override(parts, path, settings[path], not isinstance(network, BackToBack))
    faults += filter(None, found.values())
    faults += [fault for part in parts.values() for fault in part.complete()]
    for start in assembly.starts.values():
        card, box = parts.get(f"{start}adapter"), parts.get(f"{start}host")
        if card is not None and box is not None:
            train(card, box, settings)
    try:
        size = _mtu_of(bed, mtu, adapters)
    except UnitError as error:
        faults.append(error.fault.at("mtu"))
    try:
        counted = _counts_of(bed, settings, None if switch else len(groups))
    except UnitError as error:
        faults.append(error.fault)
    built: dict[str, Any] = {}
    for name, part in parts.items():
        try:
            built[name] = part.build()
        except ValidationError as error:
            faults += part.blame(error)
    if faults:
        raise CatalogError(faults)

    network = built.get("network", network)
    machine = Machine(
        id=testbed.id,
        title=testbed.title,
        groups=tuple(
            NodeGroup(
                name=name,
                count=int(count.value),
                **{kind: built[start + kind] for kind in ("adapter", "host", "stack", "link")},
            )
            for (name, start), count in zip(assembly.starts.items(), counted, strict=True)
        ),
        network=network,
        switches={name: built[f"{name}.switch".lstrip(".")] for name in models_of(network)},
        trunks=trunks_of(network, built.get("trunk", testbed.link), testbed.id),
        mtu=int(size.value),
        overrides=settings,
        parameters=(
            *(one for part in parts.values() for one in part.parameters.values()),
            *counted,
            size,
        ),
    )
    if clashes := [f"{testbed_id}: {clash}" for clash in contradictions(machine)]:
        raise CatalogError(clashes)
    return machine


def _counts_of(
    bed: Loaded, settings: Mapping[str, str], alone: int | None
) -> list[Parameter[Value]]:
    """How many nodes each group has, or each of some groups that are alone back to back."""
    found = [one for one in bed.parameters if _COUNT.fullmatch(one.path)]
    if alone is not None:
        each = 2 // alone
        found = [one.changed(each, str(each), "two hosts back to back") for one in found[:alone]]
    leaf = leaf_paths(Nodes)["count"]
    for place, one in enumerate(found):
        if one.path in settings:
            try:
                value = leaf.read_argument(settings[one.path])
            except UnitError as error:
                raise UnitError(error.fault.at(f"--set {one.path}")) from None
            found[place] = one.changed(value, leaf.format(value), SET)
    return found


def _choose_firmware(part: Part, mode: str) -> Iterator[str]:
    name, path = "firmware_mode", f"{part.name}.firmware_mode"
    try:
        leaf_paths(Adapter)[name].read(mode)
    except UnitError as error:
        yield error.fault.at(name)
        return
    if path not in part.parameters:
        yield Fault(name, mode, "", text=f"{mode!r}, but {part.values['id']} has no modes")
        return
    part.values[name] = mode
    part.parameters[path] = part.parameters[path].changed(mode, mode, CHOSEN)


def _mtu_of(bed: Loaded, given: object, adapters: Sequence[Part]) -> Parameter[Value]:
    """The MTU that is given, or that of the testbed as far as the adapters take it; UnitError."""
    assert isinstance(bed.model, Testbed)
    size = {one.path: one for one in bed.parameters}["mtu"]
    kinds: list[str] = [bed.model.link.kind]
    if isinstance(bed.model.link, PortLink):
        kinds = [LINK_OF[part.protocol or "infiniband"] for part in adapters[:1]]
    roce = any(part.protocol == "rocev2" for part in adapters)
    kinds = ["infiniband"] * roce + kinds
    if given is not None:
        mtu = parse_size(given) if isinstance(given, str) else plain(given)
        if fault := mtu_fault(mtu, repr(mtu), *kinds):
            raise UnitError(mtu, fault.allowed)
        assert isinstance(mtu, int)
        size = size.changed(mtu, MTUS[kinds[0]].format(mtu), CHOSEN)
    elif isinstance(bed.model.link, PortLink):
        for part in adapters:
            limit = part.values.get("limits", {}).get("max_mtu", size.value)
            if limit < int(size.value):
                words = f"the largest that {part.values['id']} takes"
                size = size.changed(limit, MTUS["infiniband"].format(limit), words)
    if roce and (largest := roce_mtu(int(size.value))) != size.value:
        words = f"largest path MTU of RoCEv2 in IP packets of {size.text}"
        size = size.changed(largest, MTUS["infiniband"].format(largest), words)
    return size
