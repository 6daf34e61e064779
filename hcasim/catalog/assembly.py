"""The parts of a machine, gathered from the files that its testbed names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from hcasim.catalog.adapter import Device
from hcasim.catalog.fields import keys_of
from hcasim.catalog.fitting import carried_kind, link_of_port, plug
from hcasim.catalog.folders import list_ids
from hcasim.catalog.link import PortLink
from hcasim.catalog.loader import load
from hcasim.catalog.model_file import Loaded, inside, renamed
from hcasim.catalog.network.topologies import BackToBack, Explicit, Network, OneSwitch
from hcasim.catalog.overrides import choose_protocol, replace_bus, take_ports
from hcasim.catalog.part import Part, copied, kind_of
from hcasim.catalog.provenance import Parameter, Value
from hcasim.catalog.testbed import Nodes, Testbed
from hcasim.ground.errors import CatalogError, Fault, one_of

_FOLDERS = {"adapter": "adapters", "host": "hosts", "switch": "switches", "stack": "stacks"}


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


class Assembly:
    """A machine while it is put together.

    Attributes:
        parts: by the beginning of their paths.
        faults: what is wrong with them.
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

    def of(self, kind: str) -> list[Part]:
        return [part for part in self.parts.values() if part.kind == kind]

    def gather(
        self, adapter: str | None, host: str | None, stacks: Mapping[str, str], mpi: bool
    ) -> None:
        """Load all parts: an adapter and a host instead of each group's, and stacks of each.

        Without a name a stack is that of the adapter's time, for MPI programs if these will run.
        """
        groups = {self.starts[name]: group for name, group in self.groups.items()}
        wanted = {
            f"{start}adapter": group.adapter if adapter is None else adapter
            for start, group in groups.items()
        }
        wanted |= {f"{start}host": host or group.host for start, group in groups.items()}
        models = models_of(self.network)
        wanted |= {f"{name}.switch".lstrip("."): model for name, model in models.items()}
        wanted |= {f"{self.starts[name]}link": f"nodes.{name}.link" for name in self.groups}
        wanted |= {f"{self.starts[name]}stack": stack for name, stack in stacks.items()}
        # Links are what switches take, and adapters speak what their links are.
        order = ("switch", "adapter", "host", "link", "stack")
        for name in sorted(wanted, key=lambda name: order.index(kind_of(name))):
            if kind_of(name) == "link":
                self._link(name, wanted[name], name.removesuffix("link"))
            elif wanted[name]:
                self._load(name, wanted[name])
            elif (card := self.parts.get(f"{name.removesuffix('stack')}adapter")) is not None:
                self._load(name, _of_its_time(card, mpi))
        self.parts = {name: self.parts[name] for name in wanted if name in self.parts}
        if not isinstance(self.network, BackToBack | OneSwitch):
            self._link("trunk", "trunk", next(iter(groups)))
            values = {**self.bed.values["network"], "switch": self.network.switch}
            given = inside(self.bed.parameters, "network")
            self._follow("network", type(self.network), values, given)
        for (name, group), start in zip(self.groups.items(), groups, strict=True):
            if (card := self.parts.get(f"{start}adapter")) is None:
                continue
            self._cable(card, name, group.ports)
            buses = [path for path in self.settings if path in card.bus_paths]
            for path in buses:
                measured = [one for each in self.groups.values() for one in each.adapters]
                known = dict.fromkeys((*measured, *list_ids("adapters")))
                if fault := replace_bus(card, path, self.settings[path], known):
                    self.faults.append(fault)
            if (box := self.parts.get(f"{start}host")) is not None:
                together = wanted[card.name] in group.adapters and host is None and not buses
                names = (group.host, wanted[card.name]) if together else None
                self.faults += plug(card, box, names)

    def _load(self, name: str, identifier: str) -> None:
        kind = kind_of(name)
        try:
            loaded = load(identifier, _FOLDERS[kind])
        except CatalogError as error:
            self.faults += error.faults
            return
        below = loaded.below(name)
        part = Part(name, type(loaded.model), copied(dict(loaded.values)), below, loaded)
        self.parts[name] = part
        if kind == "adapter":
            carried = carried_kind(self.testbed.link, self.of("switch"))
            if fault := choose_protocol(part, self.settings, carried):
                self.faults.append(fault)
        if kind in ("adapter", "switch"):
            take_ports(part, self.settings)

    def _follow(
        self,
        name: str,
        model: type[BaseModel],
        values: Mapping[str, Any],
        parameters: Iterable[Parameter[Value]],
    ) -> Part:
        """Make a part of a section of the testbed."""
        self.parts[name] = Part(name, model, copied(dict(values)), renamed(parameters, name))
        return self.parts[name]

    def _link(self, name: str, place: str, start: str) -> None:
        """Make a link as all are but for what is at ``place``, at the ports of an adapter."""
        place = place.replace("nodes.nodes.", "nodes.")
        model: type[BaseModel] = type(self.testbed.link)
        values, parameters = self.bed.values["link"], inside(self.bed.parameters, "link")
        if isinstance(self.testbed.link, PortLink):
            card = self.parts.get(f"{start}adapter")
            if card is None:
                return
            bed = self.testbed.id
            found = link_of_port(bed, card, self.of("switch"), values, parameters)
            if isinstance(found, str):
                self.faults.append(found)
                return
            model, values, parameters = found
        part = self._follow(name, model, values, parameters)
        known = keys_of(model)
        for one in inside(self.bed.parameters, place):
            if one.path not in known:
                self.faults.append(_foreign(self.testbed.id, place, one.path, known))
                continue
            part.values[one.path] = one.value
            part.parameters[f"{name}.{one.path}"] = replace(one, path=f"{name}.{one.path}")
            part.own.add(one.path)

    def _cable(self, adapter: Part, group: str, ports: int | None) -> None:
        path = "nodes.ports" if group == "nodes" else f"nodes.{group}.ports"
        full, has = f"{adapter.name}.ports", adapter.values["ports"]
        if ports is not None and ports > has:
            allowed = f"up to {has}, as the adapter has"
            self.faults.append(Fault(f"{self.testbed.id}: {path}", ports, allowed))
        elif ports is not None:
            (given,) = (one for one in self.bed.parameters if one.path == path)
            adapter.values["ports"] = ports
            adapter.parameters[full] = replace(given, path=full)


def _of_its_time(adapter: Part, mpi: bool) -> str:
    assert adapter.loaded is not None
    device = adapter.loaded.model
    assert isinstance(device, Device)
    return device.mpi_stack if mpi else device.stack


def trunks_of(network: Network, link: BaseModel, testbed: str) -> dict[str, Any]:
    """Return the link of each trunk that has its own, and under "" of others; or CatalogError."""
    if isinstance(network, BackToBack | OneSwitch):
        return {}
    found: dict[str, Any] = {"": link}
    if isinstance(network, Explicit):
        known, faults = keys_of(type(link)), []
        for name, trunk in network.trunks.items():
            own = trunk.model_dump(exclude_none=True, exclude={"between", "parallel"})
            place = f"network.trunks.{name}"
            faults += [_foreign(testbed, place, key, known) for key in own if key not in known]
            found[name] = link.model_copy(update=own)
        if faults:
            raise CatalogError(faults)
    return found


def _foreign(testbed: str, place: str, key: str, known: Mapping[str, object]) -> Fault:
    allowed = one_of([name for name in known if name != "kind"])
    return Fault(f"{testbed}: {place}.{key}", key, allowed, text="on a link of another kind")
