"""A fit that a machine takes on: its values as what-if settings, with their evidence."""

from __future__ import annotations

from dataclasses import replace

from hcasim.calibrate.entries import leaf_at, part_of, path_in_fit, prefixes, quantity_at, renamed
from hcasim.catalog import CatalogError, Fit, Machine, Parameter, Value, resolve
from hcasim.catalog.fields import Leaf
from hcasim.ground.errors import display

USUAL = 50
"""Samples of which bands are made unless the user says otherwise."""


class Calibration(Fit):
    """A fit out of a file, for machines to take on."""

    @property
    def tries(self) -> int:
        """How many samples there are."""
        return min((len(one.samples) for one in self.entries.values()), default=0)

    def chosen_samples(self, wanted: int) -> range:
        """Return which samples to simulate: the first ones.

        Raises:
            CatalogError: the file has too few.
        """
        where = display(self.file)
        if not self.tries:
            found = f"--uncertainty: {where} has no samples; it was not fitted to traces"
            raise CatalogError([found])
        if not 2 <= wanted <= self.tries:
            allowed = f"2 to {self.tries}, the samples of {where}"
            raise CatalogError([f"--uncertainty: found {wanted}; allowed: {allowed}"])
        return range(wanted)

    def overrides(
        self,
        testbed: str,
        adapter: str,
        sample: int | None = None,
        stack: str | None = None,
        host: str | None = None,
    ) -> dict[str, str]:
        """Return what the calibration says of a machine, as what-if settings.

        Parameters:
            testbed: id of the testbed, which need not be the one that was measured.
            adapter: id of its adapter.
            sample: one of the samples instead of the fit.
            stack, host: ids; without them those of the machine that was measured, or the
                testbed's if that is another machine.

        Raises:
            CatalogError: nothing of the machine was calibrated.
        """
        values = dict(self.settings)
        for path, entry in self.entries.items():
            leaf = quantity_at(path)
            assert isinstance(leaf, Leaf)
            value = leaf.read(entry.value) if sample is None else entry.samples[sample]
            values[path] = leaf.format(value)
        own = self.parts(testbed, adapter)
        starts = prefixes(testbed, adapter, stack or own["stack"], host or own["host"])
        found = {name: text for path, text in values.items() for name in renamed(path, starts)}
        if not found:
            parts = sorted({part_of(path) for path in values})
            text = f"{display(self.file)}: calibrates {', '.join(parts)}"
            raise CatalogError([f"{text}, which {testbed} with {adapter} does not have"])
        return found

    def is_of(self, testbed: str, adapter: str) -> bool:
        """Whether this is the machine whose traces it was fitted to."""
        made = self.made
        return made is not None and (made.testbed, made.adapter) == (testbed, adapter)

    def parts(self, testbed: str, adapter: str) -> dict[str, str | None]:
        """Return stack and host that were fitted if this is the machine; None for its own."""
        made = self.made if self.is_of(testbed, adapter) else None
        return {name: getattr(made, name, None) or None for name in ("stack", "host")}

    def base(self) -> dict[str, int | bool | str]:
        """Return what the machine differed in that was fitted, besides its settings.

        Returns:
            "mtu" (bytes), "switch" and "host" if they are not those of the testbed, "no_switch" if
            there was none, and "stack" if it was neither of the testbed's.
        """
        made = self.made
        if made is None:
            return {}
        usual = resolve(made.testbed, adapter=made.adapter)
        found: dict[str, int | bool | str] = {} if made.mtu == usual.mtu else {"mtu": made.mtu}
        mpi = resolve(made.testbed, adapter=made.adapter, mpi=True)
        if made.stack not in ("", usual.stack.id, mpi.stack.id):
            found["stack"] = made.stack
        if made.host not in ("", usual.host.id):
            found["host"] = made.host
        if made.switch:
            found["switch"] = made.switch
        return found | ({"no_switch": True} if made.no_switch else {})

    def mark(self, parameter: Parameter[Value], name: str) -> Parameter[Value]:
        """Give a parameter of a machine or a description the value and the evidence that the
        calibration has for its path in a fit, such as "adapters.mt25208.send.latency"."""
        source = f"calibration {display(self.file)}"
        leaf = leaf_at(name)
        entry = self.entries.get(name)
        if not isinstance(leaf, Leaf) or (entry is None and name not in self.settings):
            return parameter
        if entry is None:
            value = leaf.read_argument(self.settings[name])
            return parameter.changed(value, leaf.format(value), f"--set of {source}")
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

    def marked(self, machine: Machine) -> tuple[Parameter[Value], ...]:
        """Return the parameters of a machine with the evidence of the calibration."""
        return tuple(self.mark(one, path_in_fit(machine, one.path)) for one in machine.parameters)
