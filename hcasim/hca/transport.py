"""What distinguishes the transports that an adapter may speak, as data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hcasim.catalog import IwarpProtocol
from hcasim.catalog.protocol import Protocol
from hcasim.fabric.packet import Syndrome
from hcasim.fabric.wire import WireFormat, wire_format


@dataclass(frozen=True)
class Transport:
    """A reliable, ordered transport.

    InfiniBand's requester completes what the responder acknowledges; acknowledgements keep their
    place behind read responses, which need none, and a receiver that is not ready may be asked
    again (volume 1, 9.7). iWARP has TCP acknowledge segments of data whatever they are, no matter
    what the receiver still has to answer; a send that finds no receive buffer terminates the
    connection (RFC 5041 section 7, RFC 5040 section 7).

    Attributes:
        wire: its packets.
        not_ready: how a send is refused that finds no receive buffer; any but RNR_NAK ends the
            connection.
        acknowledges_responses: whether read responses are acknowledged.
        answers_in_turn: whether an acknowledgement waits for the answers before it.
    """

    wire: WireFormat
    not_ready: Syndrome
    acknowledges_responses: bool
    answers_in_turn: bool


@cache
def transport(protocol: Protocol) -> Transport:
    """The transport of what an adapter speaks."""
    iwarp = isinstance(protocol, IwarpProtocol)
    return Transport(
        wire_format(protocol),
        not_ready=Syndrome.REMOTE_OPERATIONAL_ERROR if iwarp else Syndrome.RNR_NAK,
        acknowledges_responses=iwarp,
        answers_in_turn=not iwarp,
    )
