"""How the paths of a fit name the parameters of descriptions, and those of a machine."""

from __future__ import annotations

from hcasim.catalog import Testbed, list_ids, load, nearest, one_of
from hcasim.catalog.assembly import models_of, starts_of
from hcasim.catalog.fields import Leaf, leaf_paths
from hcasim.catalog.folders import unknown_id
from hcasim.catalog.loader import CLASSES


def prefixes(testbed: str, adapter: str) -> list[tuple[str, str]]:
    """Return how the paths of a fit become the settings of a machine."""
    bed = load(testbed, "testbeds").model
    assert isinstance(bed, Testbed)
    name, nodes = next(iter(bed.nodes.items()))
    start = starts_of(bed.nodes)[name]
    found = [
        (f"adapters.{adapter}.", f"{start}adapter."),
        (f"hosts.{nodes.host}.", f"{start}host."),
    ]
    found += [(f"switches.{one}.", "switch.") for one in models_of(bed.network).values()][:1]
    found.append((f"stacks.{nodes.stack}.", f"{start}stack."))
    return [*found, (f"testbeds.{testbed}.link.", f"{start}link.")]


def fit_path(testbed: str, adapter: str, path: str) -> str:
    """Return the entry of a fit that a what-if path of a machine names; the path if there is none.

    Parameters:
        testbed: id of the testbed.
        adapter: id of the adapter.
        path: such as "adapter.send.latency".
    """
    for start, prefix in prefixes(testbed, adapter):
        if path.startswith(prefix):
            return start + path.removeprefix(prefix)
    return path


def quantity_at(path: str) -> Leaf | str:
    """Return the leaf with this path of a fit, or say why there is none to fit."""
    leaf = leaf_at(path)
    if isinstance(leaf, Leaf) and (leaf.base is not int or leaf.choices):
        return f"not a quantity; allowed: {leaf.allowed}, which cannot be fitted"
    return leaf


def leaf_at(path: str) -> Leaf | str:
    """Return the leaf with this path of a fit, whatever it holds, or say that there is none."""
    kind, _, rest = path.partition(".")
    if kind not in CLASSES:
        return f"found {kind!r}; allowed: {one_of(list(CLASSES))}{nearest(kind, CLASSES)}"
    identifier, _, inner = rest.partition(".")
    if identifier not in list_ids(kind):
        return unknown_id(kind, identifier)
    leaves = leaf_paths(CLASSES[kind])
    if kind == "testbeds":
        leaves = {name: leaf for name, leaf in leaves.items() if name.startswith("link.")}
    if inner not in leaves:
        return f"unknown parameter{nearest(inner, leaves)}"
    return leaves[inner]
