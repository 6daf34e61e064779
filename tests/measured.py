"""What one small write takes in the simulator, to be compared with the closed forms."""

from dataclasses import replace

from hcasim.traces import Measured, Trace
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


def with_noise(trace: Trace, *, seed: int, spread: float, samples: int) -> Trace:
    """Return a trace as a machine would give it whose times vary from one sample to the next.

    Parameters:
        trace: of one exact sample for each quantity.
        seed: of the noise; the same seed gives the same trace.
        spread: relative standard deviation of a sample; samples are normal.
        samples: of each quantity.
    """
    import numpy as np

    rng = np.random.default_rng(seed)

    def noisy(one: Measured) -> Measured:
        (exact,) = one.samples
        values = exact * (1 + spread * rng.standard_normal(samples))
        return one.model_copy(update={"samples": tuple(max(v, 0.0) for v in values.tolist())})

    points = tuple(
        one.model_copy(update={"measured": tuple(noisy(part) for part in one.measured)})
        for one in trace.points
    )
    return replace(trace, points=points)
