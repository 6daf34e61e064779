"""What the layouts of other tools say in comments, so that `import` knows what was simulated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcasim.catalog import Machine
    from hcasim.runs.benchmark import Benchmark

    Row = Mapping[str, Any]


def title(result: Benchmark) -> str:
    """A comment that says which benchmark of which adapter it is."""
    from hcasim import __version__

    return f"# hcasim {result.workload} ({result.machine.adapter.id}) v{__version__}"


def machine_lines(machine: Machine) -> Iterator[str]:
    """Comments that say on what it was simulated."""
    from hcasim.runs.simulated_trace import simulated_on

    yield f"# {simulated_on(machine)}"
    yield f"# [ mtu: {machine.mtu} ]"


def settings(changed: Iterable[Row], said: Collection[str]) -> Iterator[str]:
    """A comment for each option that `import` is to know.

    Parameters:
        changed: those of each point that are not the defaults.
        said: those that the form says itself.
    """
    for name, value in {name: one[name] for one in changed for name in one}.items():
        if name not in said:
            yield f"# [ {name}: {'yes' if value is True else value} ]"
