"""A simulated run in the layout of another tool, and the comments that say what was simulated."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

TITLE = re.compile(r"# hcasim (\w+) \((\S+)\) v\S+")
"""A comment that names the workload and the adapter."""
_SETTING = re.compile(r"# \[ ([a-z_]{1,40}): (\S{1,200}) \]")
_MACHINE = re.compile(r"# (simulated: \S.{0,2000})")


@dataclass(frozen=True)
class Run:
    """A run of a tool to print: rows that differ in their size only.

    Parameters:
        workload: its name, such as "osu_latency".
        hcasim: version.
        adapter: its id.
        machine: on what it was simulated, in words.
        mtu: bytes.
        transport: kind of the adapter's protocol, such as "rocev2".
        link: "infiniband" or "ethernet".
        axes: names of the options that were swept.
        options: of the benchmark, by name; `cq_mod` as it is at the sizes of the rows.
        rows: what was measured.
        changed: of each row the options that are not the defaults.
    """

    workload: str
    hcasim: str
    adapter: str
    machine: str
    mtu: int
    transport: str
    link: str
    axes: tuple[str, ...]
    options: Mapping[str, Any]
    rows: Sequence[Row]
    changed: Sequence[Row]

    @property
    def title(self) -> str:
        """A comment that says which benchmark of which adapter it is."""
        return f"# hcasim {self.workload} ({self.adapter}) v{self.hcasim}"

    def comments(self, said: Collection[str], more: Iterable[Row] = ()) -> Iterator[str]:
        """Comments that say on what it was simulated, and what an import is to know of it.

        Parameters:
            said: options that the layout says itself.
            more: options to say though they are the defaults.
        """
        yield f"# {self.machine}"
        yield f"# [ mtu: {self.mtu} ]"
        every = (*more, *self.changed)
        for name, value in {name: one[name] for one in every for name in one}.items():
            if name not in said:
                yield f"# [ {name}: {'yes' if value is True else value} ]"


def comment_says(line: str) -> dict[str, bool | int | str] | str | None:
    """Return the option that a comment of `hcasim bench` says, or what it says of the machine."""
    if match := _MACHINE.fullmatch(line):
        return match[1].rstrip()
    if match := _SETTING.fullmatch(line):
        value = match[2]
        is_count = re.fullmatch(r"[0-9]{1,15}", value, re.ASCII)
        return {match[1]: True if value == "yes" else int(value) if is_count else value}
    return None
