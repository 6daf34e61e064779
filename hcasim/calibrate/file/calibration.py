"""Calibration files: a fit to traces with its evidence, and how a machine takes it on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hcasim.calibrate.intervals.identifiability import partners
from hcasim.calibrate.paths import fit_path, leaf_at, prefixes, quantity_at
from hcasim.catalog import CatalogError, Fit, Machine, Parameter, render_fit, resolve
from hcasim.catalog.fields import Leaf
from hcasim.ground.errors import display


@dataclass(frozen=True)
class Calibration:
    """A fit to traces as its file holds it.

    Parameters:
        fit: values, intervals and verdicts.
        made: how it was made: version, command, testbed, adapter, seed, convergence.
        settings: what-if settings of the base description, by the path of a fit.
        traces: what it was fitted to: names, hashes and how many points.
        curves: how well each curve is met, and whether it was fitted or held out.
        samples: values that the traces allow, in base units by the path of a fit; those at the
            same place belong together.
    """

    fit: Fit
    made: Mapping[str, Any]
    settings: Mapping[str, str]
    traces: tuple[Mapping[str, Any], ...]
    curves: tuple[Mapping[str, Any], ...]
    samples: Mapping[str, tuple[int, ...]]

    @property
    def tries(self) -> int:
        """How many samples there are."""
        return min((len(values) for values in self.samples.values()), default=0)

    def overrides(self, testbed: str, adapter: str, sample: int | None = None) -> dict[str, str]:
        """Return what the calibration says of a machine, as what-if settings.

        Parameters:
            testbed: id of the testbed, which need not be the one that was measured.
            adapter: id of its adapter.
            sample: one of the samples instead of the fit.

        Raises:
            CatalogError: nothing of the machine was calibrated.
        """
        values = dict(self.settings)
        for path, entry in self.fit.entries.items():
            leaf = quantity_at(path)
            assert isinstance(leaf, Leaf)
            value = leaf.read(entry.value) if sample is None else self.samples[path][sample]
            values[path] = leaf.format(value)
        found = {
            prefix + path.removeprefix(start): text
            for path, text in values.items()
            for start, prefix in prefixes(testbed, adapter)
            if path.startswith(start)
        }
        if not found:
            parts = sorted({".".join(path.split(".")[:2]) for path in values})
            text = f"{display(self.fit.file)}: calibrates {', '.join(parts)}"
            raise CatalogError([f"{text}, which {testbed} with {adapter} does not have"])
        return found

    def foreign(self, testbed: str, adapter: str) -> list[str]:
        """Return what was fitted and is no part of a machine, by the path of a fit."""
        known = tuple(start for start, _ in prefixes(testbed, adapter))
        return [path for path in self.fit.entries if not path.startswith(known)]

    def partners(self, path: str) -> list[str]:
        """Return in combination with what alone a parameter was known, by the path of a fit."""
        return partners(self.fit.entries[path].verdict)

    def base(self) -> dict[str, int | bool]:
        """Return what the machine differed in that was fitted, besides its settings.

        Returns:
            "mtu" (bytes) if it is not that of the testbed, and "no_switch" if there was none.
        """
        found: dict[str, int | bool] = {}
        mtu = self.made.get("mtu")
        if mtu is not None:
            usual = resolve(self.made["testbed"], adapter=self.made["adapter"])
            found |= {} if mtu == usual.mtu else {"mtu": mtu}
        if self.made.get("no_switch"):
            found["no_switch"] = True
        return found

    def mark(self, parameter: Parameter, name: str) -> Parameter:
        """Give a parameter the value and the evidence that the calibration has for it.

        Parameters:
            parameter: of a machine or of a description.
            name: its path in a fit, such as "adapters.mt25208.send.latency".
        """
        source = f"calibration {display(self.fit.file)}"
        leaf = leaf_at(name)
        entry = self.fit.entries.get(name)
        if name in self.settings and isinstance(leaf, Leaf):
            value = leaf.read_argument(self.settings[name])
            text = leaf.format(value)
            return parameter.changed(value, text, f"--set of {source}")
        if entry is None or not isinstance(leaf, Leaf):
            return parameter
        value = leaf.read(entry.value)
        ends = [int(leaf.read(one)) for one in entry.interval or ()]
        return replace(
            parameter,
            value=value,
            text=leaf.format(value),
            evidence="fitted",
            source=f"{source}: {entry.verdict}",
            interval=(ends[0], ends[1]) if ends else None,
            claims=entry.claims,
            inherited_from="",
        )

    def marked(self, machine: Machine) -> tuple[Parameter, ...]:
        """Return the parameters of a machine with the evidence of the calibration."""
        return tuple(
            self.mark(one, fit_path(machine.id, machine.adapter.id, one.path))
            for one in machine.parameters
        )


def render_calibration(calibration: Calibration, header: Sequence[str]) -> str:
    """Write a calibration in the form that `read_calibration` reads.

    Parameters:
        calibration: what to write; the file it came from is ignored.
        header: lines of comment for the top.
    """
    lines = [render_fit(calibration.fit, header).rstrip("\n")]
    tables = (("made", calibration.made), ("settings", calibration.settings))
    for name, table in tables:
        if table:
            lines += ["", f"[{name}]", *(f"{_key(k)} = {_value(v)}" for k, v in table.items())]
    for name, rows in (("traces", calibration.traces), ("curves", calibration.curves)):
        for row in rows:
            lines += ["", f"[[{name}]]", *(f"{_key(k)} = {_value(v)}" for k, v in row.items())]
    if calibration.samples:
        lines += [
            "",
            "# Values that the traces allow, in base units; those at one place go together.",
        ]
        lines += ["[samples]"]
        lines += [f"{_key(k)} = {_value(list(v))}" for k, v in calibration.samples.items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else json.dumps(name)


def _value(value: object) -> str:
    """Write a value as TOML; its strings and numbers are those of JSON."""
    # U+007F is the one character that JSON leaves as it is and TOML does not.
    return json.dumps(value).replace("\x7f", "\\u007f")
