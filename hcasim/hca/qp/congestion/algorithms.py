"""Which algorithm controls congestion, by its name in a description."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.fabric.link import Transmitter
from hcasim.hca.egress import Egress
from hcasim.hca.qp.congestion.control import Gate, RateControl
from hcasim.hca.qp.congestion.dcqcn import Dcqcn
from hcasim.hca.qp.congestion.dctcp import Dctcp
from hcasim.hca.qp.congestion.hpcc import Hpcc
from hcasim.hca.qp.congestion.notifications import Notifications
from hcasim.hca.qp.congestion.swift import Swift
from hcasim.hca.qp.congestion.timely import Timely
from hcasim.hca.qp.pacing import Pacing


def notified(
    pacing: Pacing | None, link: Transmitter, by: Notifications, release: Callable[[], None]
) -> Pacing | None:
    """What holds the packets of a half back from now on, to which a CNP has come."""
    if not isinstance(pacing, RateControl):
        if by.description.algorithm != "dcqcn":
            return pacing
        pacing = Dcqcn(link, by.description.dcqcn, by.held, release)
        pacing.begin()
    pacing.notified()
    return pacing


def from_first(
    by: Notifications, egress: Egress, resume: Callable[[], None], release: Callable[[], None]
) -> RateControl | None:
    """What holds the packets of a requester back from the first on; None if nothing does."""
    described, link = by.description, egress.transmitter
    if not described.acts_from_first:
        return None
    control = _made(by, link, release)
    window = control.line_rate * described.round_trip // (8 * 10**12)
    limits, ahead = described.limits, described.ahead
    size = 0 if limits == "none" else window
    control.gate = Gate(egress.requests, resume, size, limits == "by_rate", ahead)
    control.begin()
    return control


def _made(by: Notifications, link: Transmitter, release: Callable[[], None]) -> RateControl:
    described, held = by.description, by.held
    if described.algorithm == "dcqcn":
        return Dcqcn(link, described.dcqcn, held, release)
    if described.algorithm == "dctcp":
        return Dctcp(link, described.dctcp, held, release)
    if described.algorithm == "timely":
        return Timely(link, described.timely, held, release)
    if described.algorithm == "swift":
        return Swift(link, described.swift, held, release)
    if described.algorithm == "hpcc":
        return Hpcc(link, described, held, release)
    return RateControl(link, described, held, release)
