"""A sender knows how much room its peer has."""

from typing import Any

import pytest

from hcasim.mpi import Comm
from hcasim.mpi.channels import Channel
from hcasim.mpi.connection import Connection
from hcasim.mpi.message import Kind, MpiPacket
from tests.mpi_jobs import job, machine, one_way


def test_a_sender_never_fills_more_slots_than_there_are() -> None:
    short = {"ring__slots": "4", "ring__credit_return": "0"}
    made = job(2, 1, **short, queue__receives="3", queue__credit_return="0")
    most = {}

    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            requests = []
            for _ in range(50):
                requests.append((yield from comm.isend(100, 1)))
                for channel in comm.process.connections[1].channels:
                    held = len(channel.peer.coming)
                    name = type(channel).__name__
                    most[name] = max(most.get(name, 0), held)
            yield from comm.waitall(requests)
        else:
            yield comm.process.sim.timeout(10**8)
            for _ in range(50):
                yield from comm.recv(100, 0)

    made.run(main)
    assert most == {"EagerRing": 4, "Queue": 3}


@pytest.mark.pure
def test_credits_that_are_written_take_no_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream one way goes on with four receives, and nothing is sent back but writes."""
    came: list[Kind] = []
    receive = Connection.receive

    def noted(self: Connection, packet: MpiPacket, channel: Channel) -> Any:
        came.append(packet.kind)
        assert not any(packet.credits)
        return receive(self, packet, channel)

    monkeypatch.setattr(Connection, "receive", noted)
    library = machine("lam-7.1", queue__receives="4", queue__credit_return="1")
    job(2, 1, library).run(one_way(100))
    assert came == [Kind.EAGER] * 100


@pytest.mark.parametrize("credit_return", ["0", "2", "10"])
def test_no_packet_comes_where_no_receive_waits(credit_return: str) -> None:
    """Both send much while one of them looks at nothing."""
    made = job(2, 1, queue__credit_return=credit_return)

    def main(comm: Comm) -> Any:
        requests = []
        for _ in range(112):
            requests.append((yield from comm.isend(600, 1 - comm.rank)))
        if comm.rank == 0:
            yield comm.process.context.core.work(10**10)
        for _ in range(112):
            yield from comm.recv(600, 1 - comm.rank)
        yield from comm.waitall(requests)

    made.run(main)
    assert made.cluster.counters()["naks"] == 0
