"""What a calibration file says of each fitted value must agree with itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hcasim.calibrate.entry import entry_faults
from hcasim.calibrate.paths import quantity_at
from hcasim.calibrate.verdict import partners
from hcasim.catalog import FittedValue, nearest
from hcasim.ground.units import UnitError

_OF_TRACES = ("interval", "bounds", "start", "verdict", "samples")
"""What each value of a fit to traces has."""


def value_faults(where: str, table: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    """Say which fitted values are no parameters, not allowed, or contradict themselves.

    Parameters:
        where: the file.
        table: what is sound of its form.
        whole: all that it holds.
    """
    entries = {
        path: FittedValue.model_construct(**one) for path, one in table.get("entries", {}).items()
    }
    leaves = {path: quantity_at(path) for path in entries}
    for path, entry in entries.items():
        leaf, prefix = leaves[path], f"{where}: entries.{path}"
        if isinstance(leaf, str):
            yield f"{prefix}: {leaf}"
        elif entry.tied_to:
            # Its numbers are those of its leader, where their faults are said.
            leader = entries.get(entry.tied_to)
            try:
                leaf.read(leader.value if leader else entry.value)
            except UnitError as error:
                yield f"{prefix}.tied_to: {error}"
        else:
            for fault in entry_faults(leaf, entry):
                yield f"{prefix}.{fault}"
            # What is left of a faulty entry lacks what the fault was said of.
            if "made" in whole and table["entries"][path] == whole["entries"][path]:
                yield from (f"{prefix}.{k}: missing" for k in _OF_TRACES if not getattr(entry, k))
    # A value with a wrong name is missed elsewhere, too.
    if not any(isinstance(leaf, str) for leaf in leaves.values()):
        for path, entry in entries.items():
            for partner in partners(entry.verdict):
                if partner not in whole["entries"]:
                    found = f"found {partner!r}, which is not fitted{nearest(partner, entries)}"
                    yield f"{where}: entries.{path}.verdict: {found}"
    counts = {path: len(one.samples) for path, one in entries.items() if one.samples}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} of {path}" for path, count in counts.items())
        yield f"{where}: entries: found samples: {found}; allowed: as many of each"
