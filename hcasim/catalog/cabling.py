"""The links of a testbed that takes any adapter: the fastest that its ports take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic import BaseModel

from hcasim.catalog.link import NO_CODE, USUAL_CODES, EthernetLink, InfinibandLink
from hcasim.catalog.part import Part
from hcasim.catalog.protocol import LINK_OF
from hcasim.catalog.provenance import Parameter, Value

_Found: TypeAlias = tuple[type[BaseModel], dict[str, Any], list[Parameter[Value]]]
_RATES = {"infiniband": ("speed", "width"), "ethernet": ("gigabits",)}
_MODELS: Mapping[str, type[BaseModel]] = {"infiniband": InfinibandLink, "ethernet": EthernetLink}


def link_of_port(
    testbed: str, adapter: Part, given: Mapping[str, Any], known: Iterable[Parameter[Value]]
) -> _Found | str:
    """Return class, values and parameters of an adapter's link, or what is wrong.

    Parameters:
        testbed: its id.
        adapter: what it speaks tells the kind of the link.
        given: values of the testbed's section.
        known: its parameters.
    """
    own = {one.path: one for one in known}
    protocol, port = adapter.protocol, adapter.values.get("port", {})
    start = f"{adapter.name}.port."
    rates = {path: one for path, one in adapter.parameters.items() if path.startswith(start)}
    if protocol is None:
        words = "a device without ports, whose link carries nothing"
        protocol, port = "iwarp", {"gigabits": 1}
        rates = {f"{start}gigabits": Parameter("gigabits", 1, "1", "", "assumed", words)}
    kind = LINK_OF[protocol]
    missing = [key for key in _RATES[kind] if key not in port]
    if missing:
        return (
            f"{start}{missing[0]}: missing in {adapter.values['id']}, which speaks {protocol}; "
            f"allowed: a value, because {testbed} takes the fastest link of its ports"
        )
    chosen = {key: port[key] for key in _RATES[kind]}
    usual = USUAL_CODES.get(chosen[_RATES[kind][0]], NO_CODE)
    kept = {key: given[key] for key in ("cable_length", "propagation", "credit_update")}
    if kind == "ethernet":
        del kept["credit_update"]
    fec = {"code": usual.code, "decoding": given["decoding"]}
    found = [replace(rates[start + key], path=key) for key in chosen]
    found += [own[key] for key in kept]
    code = Parameter("fec.code", usual.code, usual.code, "", usual.evidence, usual.source)
    found += [code, replace(own["decoding"], path="fec.decoding")]
    return _MODELS[kind], {"kind": kind, **chosen, **kept, "fec": fec}, found
