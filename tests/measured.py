"""What one small write takes in the simulator, to be compared with the closed forms."""

from tests.rig import WRITE, Program, Rig
from tests.twin import Times


def measured(rig: Rig, size: int, *, inline: bool = False) -> Times:
    """Times of one write on an idle machine whose caches hold all that it needs."""
    a, b = rig.peers
    qp, _ = rig.connect(a, b, max_inline_data=128)
    watch = b.mr.watch(b.mr.addr + size - 1)
    request = a.request(WRITE, b, size, inline=inline)
    rig.exchange(qp, a, request)
    begin = rig.sim.now

    def reader() -> Program:
        yield from watch.poll(2)
        return rig.sim.now

    def sender() -> Program:
        yield from a.post(qp, request)
        return (yield from a.collect(1))

    seen, (done,) = rig.run(reader(), sender())
    return Times(seen - begin, done.timestamp_ps - begin)
