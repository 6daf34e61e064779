"""One run of perftest: which test it was, of what, and what the figures of its table mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hcasim.ground.faults import shown
from hcasim.traces.figures import Cells, bandwidth, measured, rate_fits
from hcasim.traces.schema import Device, Measured, Port
from hcasim.traces.source import Unreadable
from hcasim.traces.tool_output import Columns, Hints, Options

_VERBS = {"send": "Send", "write": "RDMA_Write", "read": "RDMA_Read", "atomic": "Atomic"}
_WAYS = {"lat": "Latency", "bw": "BW", "bibw": "Bidirectional BW"}
OPS = {"fetch_add": "FETCH_AND_ADD", "cmp_swap": "CMP_AND_SWAP"}
TITLES = {
    f"{verb}_{way}": f"{title}{' FETCH_AND_ADD' if verb == 'atomic' else ''} {_WAYS[way]} Test"
    for ways in (("lat",), ("bw", "bibw"))
    for verb, title in _VERBS.items()
    for way in ways
}
"""What each workload of `hcasim bench` is called in the output."""
_TITLE = re.compile(
    rf"(?P<verb>{'|'.join(_VERBS.values())})(?P<imm>_imm)?"
    r"(?P<rest>(?:[_ ](?:CMP_AND_SWAP|FETCH_AND_ADD|Bidirectional|Post_List|Post List|BW|Latency"
    r"|forwarding|Multicast))+)[_ ]Test"
)
_LAYERS = {"IB": "infiniband", "InfiniBand": "infiniband", "Ethernet": "ethernet"}
SETTINGS = (
    *("Dual-port", "Device", "Number of qps", "Transport type", "Connection type", "Using SRQ"),
    *("TX depth", "Post List", "CQ Moderation", "Mtu", "Link type", "Max inline data"),
    "Use ROCm memory",
)
"""What is printed of a run before its table, as far as it is read."""
_SETTING = re.compile(rf"((?:(?<!Recv )Post List|{'|'.join(SETTINGS)}))\s*:\s*(\S+)")
_OLD_SETTINGS = (
    # 2006 to 2011.
    (re.compile(r"\s*Inline data is used up to ([0-9]+) bytes? message"), "Max inline data"),
    (re.compile(r"\s*Number of qp's running ([0-9]+)"), "Number of qps"),
    (re.compile(r"\s*(Test with events)\b"), "events"),
)
_SWITCHES: dict[str, tuple[str, int | bool | str]] = {
    "Dual-port": ("ports", 2),
    # Another experiment than `hcasim bench` makes: a fit must not take it for the usual one.
    "Using SRQ": ("srq", True),
    "Use ROCm memory": ("accelerator", "ROCM"),
}
"""What a setting is if it is on."""
BANDWIDTH_UNITS = {"MB/sec": "MiB/s", "MiB/sec": "MiB/s", "Gb/sec": "Gbit/s"}
"""The units of perftest as a trace writes them: its MB is 2^20 bytes."""
UNITS = tuple(dict.fromkeys(BANDWIDTH_UNITS.values()))
_BW = (*BANDWIDTH_UNITS,)
COLUMNS: Columns = {
    "#bytes": ("size", ()),
    "#iterations": ("iters", ()),
    "#sl": ("sl", ()),
    "t_min": ("minimum", ("usec",)),
    "t_max": ("maximum", ("usec",)),
    "t_typical": ("median", ("usec",)),
    "t_avg": ("mean", ("usec",)),
    "t_stdev": ("deviation", ("usec",)),
    "99% percentile": ("99", ("usec",)),
    "99.9% percentile": ("99.9", ("usec",)),
    "tps average": ("tps", ()),
    "BW peak": ("maximum", _BW),
    "BW average": ("bandwidth", _BW),
    "MsgRate": ("rate", ("Mpps",)),
    "BW Port1": ("port 1", _BW),
    "MsgRate Port1": ("rate of port 1", ("Mpps",)),
    "BW Port2": ("port 2", _BW),
    "MsgRate Port2": ("rate of port 2", ("Mpps",)),
    "CPU_Util": ("cpu", ("%", "%%")),
}
"""The columns of its tables."""


@dataclass
class Run:
    """What is known of a run before its figures.

    Parameters:
        hints: what the user knows.
        workload: as `hcasim bench` has it.
        title: as printed.
        options: of each point.
        settings: by the name that perftest prints.
    """

    hints: Hints
    workload: str = ""
    title: str = ""
    options: Options = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def is_latency(self) -> bool:
        """Whether times are measured."""
        return self.workload.endswith("_lat")

    def set_title(self, title: str) -> None:
        """Take the name of the test."""
        match = _TITLE.fullmatch(title)
        words = match["rest"] if match else ""
        if not match or ("BW" in words) == ("Latency" in words):
            raise Unreadable(f"found {shown(title)}; allowed: a test such as RDMA_Write_BW_Test")
        verb = next(one for one, name in _VERBS.items() if name == match["verb"])
        way = "lat" if "Latency" in words else "bibw" if "Bidirectional" in words else "bw"
        self.title = title.replace("_", " ")
        self.workload = f"{verb}{'_imm' if match['imm'] else ''}_{way}"
        for op, name in OPS.items():
            if name in words:
                self.options["op"] = op
        self.options |= {one.lower(): True for one in ("Multicast", "forwarding") if one in words}

    def take_settings(self, line: str) -> None:
        """Take what a line says of the run, if it does."""
        self.settings |= dict(_SETTING.findall(line))
        for pattern, key in _OLD_SETTINGS:
            if match := pattern.match(line):
                self.settings[key] = match[1]

    def device(self) -> Device:
        """Return what it says of the adapter."""
        layer = _LAYERS.get(self.settings.get("Link type", ""), "")
        spoken = self.settings.get("Transport type", "")
        transport = hinted = self.hints.transport
        if spoken == "IW":
            transport = "iwarp"
        elif layer == "infiniband" and spoken in ("IB", ""):
            transport = "infiniband"
        elif layer and spoken == "IB":
            # Versions before February 2013 do not print the transport; Ethernet may be iWARP there.
            transport = "roce"
        if hinted not in ("", transport):
            raise Unreadable(f"found {transport}; --transport says {hinted}")
        name = self.settings.get("Device", "").strip('"') or self.hints.device
        return Device.model_validate({"name": name, "transport": transport})

    def port(self) -> Port:
        """Return what it says of the link."""
        layer = _LAYERS.get(self.settings.get("Link type", ""), "")
        return Port.model_validate({"layer": layer, "mtu": self._number("Mtu") or None})

    def point_options(self, size: int, iters: int) -> Options:
        """Return the options of one line as `hcasim bench` names them."""
        settings = self.settings
        options: Options = {"size": size, "iters": iters}
        numbers = {"qps": "Number of qps", "mtu": "Mtu"}
        if settings.get("Transport type") == "IW":
            # Its segments follow from Ethernet's frame, not from this MTU.
            del numbers["mtu"]
        if not self.is_latency:
            numbers |= {"tx_depth": "TX depth", "cq_mod": "CQ Moderation"}
            # Since 2013 the iterations of all queue pairs are printed as one number.
            if "Transport type" in settings:
                options["iters"] = max(1, iters // max(1, self._number("Number of qps")))
        options |= {name: found for name, key in numbers.items() if (found := self._number(key))}
        if "Max inline data" in settings:
            options["inline"] = size <= self._number("Max inline data")
        if (connection := settings.get("Connection type", "RC")) != "RC":
            options["connection"] = connection
        options |= {
            name: found for key, (name, found) in _SWITCHES.items() if settings.get(key) == "ON"
        }
        if settings.get("events"):
            options["events"] = True
        if (posted := self._number("Post List")) > 1:
            options["post_list"] = posted
        return options | self.options

    def _number(self, key: str) -> int:
        match = re.match(r"[0-9]{1,9}", self.settings.get(key, ""), re.ASCII)
        return int(match[0]) if match else 0

    def latency(self, cells: Cells, iters: int) -> Measured:
        """Return the times of a line; refuse cycles, which -C prints under a head of usec."""
        # Times of a simulator may be whole by chance, but they are all the same.
        names = ("minimum", "maximum", "median")
        times = [cells[name].value for name in names if name in cells]
        if len(set(times)) > 1 and len(times) == 3 and all(2 * one % 1 == 0 for one in times):
            raise Unreadable(
                "found whole and half numbers only, which are cycles (-C) under a head of usec; "
                "allowed: microseconds"
            )
        return measured(cells, "us", iters)

    def bandwidth(self, cells: Cells, size: int, iters: int, unit: str) -> list[Measured]:
        """Return bandwidth and message rate of a line of messages of a size in bytes; nothing if
        all digits are 0."""
        mean = cells["bandwidth"]
        own = {"mean": mean} | {one: cells[one] for one in ("maximum", "rate") if one in cells}
        rate = own.get("rate")
        if rate is not None and rate.value and unit not in fitting_units(cells, size):
            both = self.workload.endswith("_bibw") and unit in fitting_units(cells, 2 * size)
            if not both:
                guess = "".join(f"; as {one} they would" for one in fitting_units(cells, size)[:1])
                raise Unreadable(
                    f"found {mean.text} {unit} and {rate.text} million messages a second, which "
                    f"do not fit together at {size} bytes{guess}"
                )
            # Versions of 2013 print both directions' bandwidth, and one direction's messages.
            del own["rate"]
        return bandwidth(own, unit, "M/s", iters)


def is_nothing(name: str, word: str) -> bool:
    """Whether a figure is a deviation that is not a number, as perftest prints of few samples."""
    return name == "deviation" and word in ("nan", "-nan")


def fitting_units(cells: Cells, size: int) -> Sequence[str]:
    """Return the units in which bandwidth and message rate fit together."""
    mean, rate = cells["bandwidth"], cells["rate"]
    return [unit for unit in UNITS if rate.value and rate_fits(mean, unit, rate, "M/s", size)]
