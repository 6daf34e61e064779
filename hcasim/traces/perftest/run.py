"""One run of perftest: which test it was, and of what."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hcasim.ground.faults import shown
from hcasim.traces.header import Device, Port
from hcasim.traces.printed import Hints, Unreadable

_TITLE = re.compile(
    r"(?P<verb>Send|RDMA_Write|RDMA_Read|Atomic)(?P<imm>_imm)?"
    r"(?P<rest>(?:_(?:CMP_AND_SWAP|FETCH_AND_ADD|Bidirectional|Post_List|BW|Latency|forwarding"
    r"|Multicast))+)_Test"
)
_VERBS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read", "Atomic": "atomic"}
_OPS = {"CMP_AND_SWAP": "cmp_swap", "FETCH_AND_ADD": "fetch_add"}
_LAYERS = {"IB": "infiniband", "InfiniBand": "infiniband", "Ethernet": "ethernet"}
_SETTING = re.compile(
    r"(Dual-port|Device|Number of qps|Transport type|Connection type|Using SRQ|TX depth|RX depth"
    r"|(?<!Recv )Post List|CQ Moderation|Mtu|Link type|Max inline data|Outstand reads"
    r"|rdma_cm QPs|Use ROCm memory)\s*:\s*(\S+)"
)
_OLD_SETTINGS = (
    # 2006 to 2011.
    (re.compile(r"\s*Inline data is used up to ([0-9]+) bytes? message"), "Max inline data"),
    (re.compile(r"\s*Number of qp's running ([0-9]+)"), "Number of qps"),
    (re.compile(r"\s*(Test with events)\b"), "events"),
)
WORKLOADS = (
    *(f"{verb}_lat" for verb in _VERBS.values()),
    *(f"{verb}_{way}" for verb in _VERBS.values() for way in ("bw", "bibw")),
)
"""The names of perftest's tests as `hcasim bench` has them."""


@dataclass
class Run:
    """What is known of a run before its figures.

    Parameters:
        line: where it begins.
        workload: as `hcasim bench` has it.
        title: as printed.
        options: of each point.
        settings: by the name that perftest prints, and the line of each.
    """

    line: int
    workload: str = ""
    title: str = ""
    options: dict[str, bool | int | str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def is_latency(self) -> bool:
        """Whether times are measured."""
        return self.workload.endswith("_lat")

    @property
    def is_two_way(self) -> bool:
        """Whether both sides send."""
        return self.workload.endswith("_bibw")

    def set_title(self, title: str) -> None:
        """Take the name of the test.

        Raises:
            Unreadable: no test of perftest.
        """
        match = _TITLE.fullmatch(title)
        words = match["rest"] if match else ""
        if not match or ("BW" in words) == ("Latency" in words):
            raise Unreadable(f"found {shown(title)}; allowed: a test such as RDMA_Write_BW_Test")
        verb = _VERBS[match["verb"]] + ("_imm" if match["imm"] else "")
        way = "lat" if "Latency" in words else "bibw" if "Bidirectional" in words else "bw"
        self.title, self.workload = title.replace("_", " "), f"{verb}_{way}"
        if operation := next((one for one in _OPS if one in words), ""):
            self.options["op"] = _OPS[operation]
        self.options |= {
            name.lower(): True for name in ("Multicast", "forwarding") if name in words
        }

    def take_settings(self, line: str) -> None:
        """Take what a line says of the run, if it does."""
        self.settings |= dict(_SETTING.findall(line))
        for pattern, key in _OLD_SETTINGS:
            if match := pattern.match(line):
                self.settings[key] = match[1]

    def device(self, hints: Hints) -> Device:
        """Return what it says of the adapter."""
        layer = _LAYERS.get(self.settings.get("Link type", ""), "")
        spoken = self.settings.get("Transport type", "")
        transport = hints.transport
        if spoken == "IW":
            transport = "iwarp"
        elif layer and spoken in ("IB", ""):
            # Versions before February 2013 do not print the transport; Ethernet may be iWARP there.
            if layer == "infiniband":
                transport = "infiniband"
            elif spoken == "IB":
                transport = "roce"
        if hints.transport and transport != hints.transport:
            raise Unreadable(f"found {transport}; --transport says {hints.transport}")
        name = self.settings.get("Device", "").strip('"') or hints.device
        return Device.model_validate({"name": name, "transport": transport})

    def port(self) -> Port:
        """Return what it says of the link."""
        layer = _LAYERS.get(self.settings.get("Link type", ""), "")
        return Port.model_validate({"layer": layer, "mtu": self._number("Mtu") or None})

    def point_options(self, size: int, iters: int) -> dict[str, bool | int | str]:
        """Return the options of one line as `hcasim bench` names them."""
        options: dict[str, bool | int | str] = {"size": size, "iters": iters}
        numbers = {"qps": "Number of qps", "mtu": "Mtu"}
        if self.settings.get("Transport type") == "IW":
            # Its segments follow from Ethernet's frame, not from this MTU.
            del numbers["mtu"]
        if not self.is_latency:
            numbers |= {"tx_depth": "TX depth", "cq_mod": "CQ Moderation"}
            # Since 2013 the iterations of all queue pairs are printed as one number.
            if "Transport type" in self.settings:
                options["iters"] = max(1, iters // max(1, self._number("Number of qps")))
        options |= {name: found for name, key in numbers.items() if (found := self._number(key))}
        if self.settings.get("Dual-port") == "ON":
            options["ports"] = 2
        if "Max inline data" in self.settings:
            options["inline"] = size <= self._number("Max inline data")
        if self.settings.get("Connection type", "RC") != "RC":
            options["connection"] = self.settings["Connection type"]
        # Another experiment than `hcasim bench` makes: a fit must not take it for the usual one.
        if self.settings.get("Using SRQ") == "ON":
            options["srq"] = True
        if self.settings.get("events"):
            options["events"] = True
        if self.settings.get("Use ROCm memory") == "ON":
            options["accelerator"] = "ROCM"
        if self._number("Post List") > 1:
            options["post_list"] = self._number("Post List")
        return options | self.options

    def _number(self, key: str) -> int:
        match = re.match(r"[0-9]{1,9}", self.settings.get(key, ""), re.ASCII)
        return int(match[0]) if match else 0
