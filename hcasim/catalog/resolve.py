"""From ids and what-if settings to one frozen machine: its parts, gathered from their files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from os import PathLike, fspath
from typing import Any

from pydantic import BaseModel, ValidationError

from hcasim.catalog.adapter import Adapter, Device
from hcasim.catalog.fields import keys_of, leaf_paths
from hcasim.catalog.fitting import (
    carried_kind,
    contradictions,
    link_of_port,
    negotiate,
    plug,
    train,
)
from hcasim.catalog.folders import find_file, list_ids
from hcasim.catalog.link import LINK_OF, MTUS, PortLink, mtu_fault, roce_mtu
from hcasim.catalog.loader import load
from hcasim.catalog.model_file import Loaded, inside
from hcasim.catalog.part import ABSENT, PREFIXES, Part, as_texts, kind_of, override
from hcasim.catalog.resolved import Machine, NodeGroup
from hcasim.catalog.section import CHOSEN, SET, Parameter, Value
from hcasim.catalog.testbed import BackToBack, Explicit, Network, Nodes, OneSwitch, Testbed
from hcasim.ground.errors import (
    ID,
    CatalogError,
    Fault,
    flag_fault,
    name_fault,
    one_of,
    refuse,
    settings_fault,
)
from hcasim.ground.text import plain
from hcasim.ground.units import UnitError, parse_size

_FOLDERS = {"switch": "switches", "adapter": "adapters", "host": "hosts", "stack": "stacks"}
_ORDER = ("adapter", "host", "switch", "link", "stack", "trunk", "network")
_CHOSEN = ("bus", "bus.kind", "protocol.kind")
"""Keys of an adapter whose settings are obeyed before all others."""
_COUNT = re.compile(r"nodes\.(.*\.)?count")
"""The paths of how many nodes a testbed has, or each group of them."""


def starts_of(groups: Iterable[str]) -> dict[str, str]:
    """Return what begins the paths of each group of nodes: nothing if there is only one."""
    names = list(groups)
    return {name: "" if names == ["nodes"] else f"{name}." for name in names}


def models_of(network: Network) -> dict[str, str]:
    """Return the model of each switch by its name; under "" if all are of the same."""
    if isinstance(network, BackToBack):
        return {}
    if not isinstance(network, Explicit):
        return {"": network.switch}
    models = {name: one.switch or network.switch for name, one in network.switches.items()}
    return {"": network.switch} if set(models.values()) == {network.switch} else models


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
        faults = [*error.faults]
        if adapter is not None:
            try:
                find_file(adapter, "adapters")
            except CatalogError as unknown:
                faults += unknown.faults
        raise CatalogError(faults) from None
    testbed = bed.model
    assert isinstance(testbed, Testbed)
    # Back to back are two nodes of the only group, or one of each of the first two.
    groups = testbed.nodes if switch else dict(islice(testbed.nodes.items(), 2))
    network: Network = testbed.network if switch else BackToBack()
    if isinstance(switch, str | PathLike):
        if isinstance(network, BackToBack):
            network = OneSwitch(switch="")
        network = network.model_copy(update={"switch": fspath(switch)})
    assembly = _Assembly(bed, groups, network, settings)
    stacks = {name: stack or (mpi and one.mpi_stack) or one.stack for name, one in groups.items()}
    assembly.gather(adapter, host, stacks, mpi)
    if "mtu" in settings:
        if mtu is not None:
            said = "contradicts --mtu; leave one out"
            assembly.faults.append(Fault("--set mtu", mtu, "", said=said))
        mtu = settings["mtu"]
    assembly.set_up(firmware_mode)
    size, counted = assembly.mtu(mtu), assembly.counts(None if switch else len(groups))
    built = assembly.build()
    network = built.get("network", network)
    parameters = [one for part in assembly.parts.values() for one in part.placed()]
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
        trunks=_trunks_of(network, built.get("trunk", testbed.link), testbed.id),
        mtu=int(size.value),
        overrides=settings,
        unused=tuple(dict.fromkeys(assembly.unused)),
        parameters=(*parameters, *counted, size),
    )
    refuse(*(clash.at(f"{testbed_id}: {clash.place}") for clash in contradictions(machine)))
    return machine


class _Assembly:
    """The parts of a machine while it is put together, and what is wrong with them.

    Attributes:
        starts: what begins the paths of each group of nodes.
        parts: by the beginning of their paths.
        unused: a line for each setting that has no effect.
    """

    def __init__(
        self,
        bed: Loaded,
        groups: Mapping[str, Nodes],
        network: Network,
        settings: Mapping[str, str],
    ) -> None:
        assert isinstance(bed.model, Testbed)
        self.bed, self.testbed = bed, bed.model
        self.groups, self.network, self.settings = groups, network, settings
        self.starts = starts_of(groups)
        self.parts: dict[str, Part] = {}
        self.faults: list[str] = []
        self.unused: list[str] = []

    def of(self, kind: str) -> list[Part]:
        return [part for part in self.parts.values() if part.kind == kind]

    def gather(
        self, adapter: str | None, host: str | None, stacks: Mapping[str, str], mpi: bool
    ) -> None:
        """Load all parts: an adapter and a host instead of each group's, and stacks of each.

        Without a name a stack is that of the adapter's time, for MPI programs if these will run.
        """
        cards = {name: one.adapter for name, one in self.groups.items()}
        if adapter is not None:
            cards = dict.fromkeys(cards, adapter)
        # Links are what switches take, and adapters speak what their links are.
        for name, model in models_of(self.network).items():
            self._load(f"{name}.switch".lstrip("."), model)
        for name, start in self.starts.items():
            self._load(f"{start}adapter", cards[name])
        for name, start in self.starts.items():
            self._load(f"{start}host", host or self.groups[name].host)
        for name, start in self.starts.items():
            self._link(f"{start}link", f"nodes.{name}.link", start)
        for name, start in self.starts.items():
            device = self.parts.get(f"{start}adapter")
            if stacks[name]:
                self._load(f"{start}stack", stacks[name])
            elif device is not None and device.loaded is not None:
                self._load(f"{start}stack", of_its_time(device.loaded.model, mpi))
        if not isinstance(self.network, BackToBack | OneSwitch):
            self._link("trunk", "trunk", next(iter(self.starts.values())))
            values = {**self.bed.values["network"], "switch": self.network.switch}
            given = inside(self.bed.parameters, "network")
            self.parts["network"] = Part("network", type(self.network), values, given)
        self.parts = {
            name: self.parts[name]
            for name in sorted(self.parts, key=lambda name: _ORDER.index(kind_of(name)))
        }
        for name, start in self.starts.items():
            if (card := self.parts.get(f"{start}adapter")) is None:
                continue
            group = self.groups[name]
            self._nodes_set(card, name)
            buses = card.asked(self.settings, "bus", "bus.kind")
            for path in buses:
                measured = [one for each in self.groups.values() for one in each.adapters]
                known = dict.fromkeys((*measured, *list_ids("adapters")))
                self._note(card.replace_bus(path, self.settings[path], known))
            if (box := self.parts.get(f"{start}host")) is not None:
                together = cards[name] in group.adapters and host is None and not buses
                names = (group.host, cards[name]) if together else None
                self.faults += plug(card, box, names)

    def set_up(self, firmware_mode: str | None) -> None:
        """Obey the settings, and let adapters and hosts agree on their buses."""
        if firmware_mode is not None:
            for part in self.of("adapter"):
                self._note(_choose_firmware(part, firmware_mode))
        starts = {"", *self.starts.values()}
        done = {"mtu", *(f"{start}adapter.{key}" for start in starts for key in _CHOSEN)}
        done.update(one.path for one in self.bed.parameters if _COUNT.fullmatch(one.path))
        found = {path: "" for path in self.settings if path not in done}

        def turn(path: str) -> tuple[bool, bool]:
            """What is said of all comes before what is said of a group, what is left out first."""
            every = self.parts.values()
            left_out = any(one.may_lack(one.inner(path)) for one in every)
            group = path.partition(".")[0] not in PREFIXES
            return group, self.settings[path] != ABSENT or not left_out

        for path in sorted(found, key=turn):
            switched = not isinstance(self.network, BackToBack)
            found[path] = override(self.parts, path, self.settings[path], switched)
        self._note(*found.values())
        for part in self.parts.values():
            self._note(*part.complete())
        for start in self.starts.values():
            card, box = self.parts.get(f"{start}adapter"), self.parts.get(f"{start}host")
            if card is not None and box is not None:
                # Settings may have left out what it needs.
                names = box.values["id"], card.values["id"]
                self.faults += plug(card, box, names)
                self.unused += train(card, box, self.settings)
            if card is not None and (link := self.parts.get(f"{start}link")) is not None:
                self.unused += negotiate(card, link, self.settings)

    def mtu(self, given: object) -> Parameter[Value]:
        """Return the MTU that is given, or the testbed's as far as the adapters take it."""
        size = {one.path: one for one in self.bed.parameters}["mtu"]
        adapters, of_ports = self.of("adapter"), isinstance(self.testbed.link, PortLink)
        kinds: list[str] = [self.testbed.link.kind]
        if of_ports:
            kinds = [LINK_OF[part.protocol or "infiniband"] for part in adapters[:1]]
        roce = any(part.protocol == "rocev2" for part in adapters)
        kinds = ["infiniband"] * roce + kinds
        if given is not None:
            try:
                mtu = parse_size(given) if isinstance(given, str) else plain(given)
            except UnitError as error:
                self._note(error.fault.at("mtu"))
                return size
            if fault := mtu_fault(mtu, repr(mtu), *kinds):
                self._note(Fault("mtu", mtu, fault.allowed))
                return size
            assert isinstance(mtu, int)
            size = size.changed(mtu, MTUS[kinds[0]].format(mtu), CHOSEN)
        elif of_ports:
            for part in adapters:
                limit = part.values.get("limits", {}).get("max_mtu", size.value)
                if limit < int(size.value):
                    words = f"the largest that {part.values['id']} takes"
                    size = size.changed(limit, MTUS["infiniband"].format(limit), words)
        if roce and (largest := roce_mtu(int(size.value))) != size.value:
            words = f"largest path MTU of RoCEv2 in IP packets of {size.text}"
            size = size.changed(largest, MTUS["infiniband"].format(largest), words)
        return size

    def counts(self, alone: int | None) -> list[Parameter[Value]]:
        """How many nodes each group has, or each of some groups that are alone back to back."""
        found = [one for one in self.bed.parameters if _COUNT.fullmatch(one.path)]
        if alone is not None:
            each = 2 // alone
            back_to_back = "two hosts back to back"
            found = [one.changed(each, str(each), back_to_back) for one in found[:alone]]
        leaf = leaf_paths(Nodes)["count"]
        for place, one in enumerate(found):
            if one.path in self.settings:
                try:
                    value = leaf.read_argument(self.settings[one.path])
                except UnitError as error:
                    self._note(error.fault.at(f"--set {one.path}"))
                else:
                    found[place] = one.changed(value, leaf.format(value), SET)
        return found

    def build(self) -> dict[str, Any]:
        """Return the description of each part; CatalogError has all that is wrong."""
        built: dict[str, Any] = {}
        for name, part in self.parts.items():
            try:
                built[name] = part.build()
            except ValidationError as error:
                self._note(*part.blame(error))
        refuse(*self.faults)
        return built

    def _note(self, *faults: str) -> None:
        self.faults += filter(None, faults)

    def _load(self, name: str, identifier: str) -> None:
        kind = kind_of(name)
        try:
            loaded = load(identifier, _FOLDERS[kind])
        except CatalogError as error:
            self.faults += error.faults
            return
        part = Part(name, type(loaded.model), loaded.values, loaded.parameters, loaded)
        self.parts[name] = part
        if kind == "adapter":
            carried = carried_kind(self.testbed.link, self.of("switch"))
            self._note(part.choose_protocol(self.settings, carried))
        if kind in ("adapter", "switch"):
            part.take_ports(self.settings)

    def _link(self, name: str, place: str, start: str) -> None:
        """Make a link as all are but for what is at ``place``, at the ports of an adapter."""
        place = place.replace("nodes.nodes.", "nodes.")
        model: type[BaseModel] = type(self.testbed.link)
        values, parameters = self.bed.values["link"], inside(self.bed.parameters, "link")
        if isinstance(self.testbed.link, PortLink):
            card = self.parts.get(f"{start}adapter")
            if card is None:
                return
            switches = self.of("switch")
            found = link_of_port(self.testbed.id, card, switches, values, parameters)
            if isinstance(found, str):
                self.faults.append(found)
                return
            model, values, parameters = found
        part = self.parts[name] = Part(name, model, values, parameters)
        known = keys_of(model)
        for one in inside(self.bed.parameters, place):
            if one.path not in known:
                self.faults.append(_foreign(self.testbed.id, place, one.path, known))
                continue
            part.values[one.path] = one.value
            part.parameters[one.path] = one
            part.own.add(one.path)

    def _nodes_set(self, adapter: Part, group: str) -> None:
        """Give an adapter what the testbed says of it, as far as it has that."""
        start, has = "nodes" if group == "nodes" else f"nodes.{group}", adapter.values["ports"]
        for one in inside(self.bed.parameters, start):
            path = {"ports": "ports", "mmrbc": "bus.mmrbc"}.get(one.path)
            if path == "ports" and one.value > has:
                allowed = f"up to {has}, as the adapter has"
                self.faults.append(Fault(f"{self.testbed.id}: {start}.ports", one.value, allowed))
            elif path in adapter.parameters:
                adapter.take(one.at(path))


def of_its_time(device: object, mpi: bool = False) -> str:
    """Return the stack of a device's time, for MPI programs if these will run."""
    assert isinstance(device, Device)
    return device.mpi_stack if mpi else device.stack


def _choose_firmware(part: Part, mode: str) -> str:
    name = "firmware_mode"
    try:
        leaf_paths(Adapter)[name].read(mode)
    except UnitError as error:
        return error.fault.at(name)
    if name not in part.parameters:
        return Fault(name, mode, "", text=f"{mode!r}, but {part.values['id']} has no modes")
    part.take(part.parameters[name].changed(mode, mode, CHOSEN))
    return ""


def _trunks_of(network: Network, link: BaseModel, testbed: str) -> dict[str, Any]:
    """Return the link of each trunk that has its own, and under "" of others; or CatalogError."""
    if isinstance(network, BackToBack | OneSwitch):
        return {}
    found: dict[str, Any] = {"": link}
    if isinstance(network, Explicit):
        known, faults = keys_of(type(link)), list[str]()
        for name, trunk in network.trunks.items():
            own = trunk.model_dump(exclude_none=True, exclude={"between", "parallel"})
            place = f"network.trunks.{name}"
            faults += [_foreign(testbed, place, key, known) for key in own if key not in known]
            found[name] = link.model_copy(update=own)
        refuse(*faults)
    return found


def _foreign(testbed: str, place: str, key: str, known: Iterable[str]) -> Fault:
    allowed = one_of([name for name in known if name != "kind"])
    return Fault(f"{testbed}: {place}.{key}", key, allowed, text="on a link of another kind")
