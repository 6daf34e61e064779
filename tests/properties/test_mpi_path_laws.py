"""Laws of critical paths: whatever a program does, each moment of its time is told once."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from hcasim.mpi import Comm
from hcasim.workloads.mpi.path import CriticalPath
from tests.mpi_jobs import job
from tests.properties.test_mpi_laws import PROTOCOLS, Message, schedules


@given(schedules(), PROTOCOLS)
def test_the_path_of_any_program_adds_up_and_is_a_chain(
    schedule: tuple[tuple[int, int], list[Message]], options: dict[str, str]
) -> None:
    place, messages = schedule
    made = job(*place, **options)
    path = CriticalPath(made.sim, made.processes)

    def main(comm: Comm) -> Any:
        pending = []
        for message in messages:
            if message.dest == comm.rank:
                request = yield from comm.irecv(20_000, message.source, message.tag)
                pending.append(request)
        for message in messages:
            if message.source == comm.rank:
                sent = yield from comm.isend(message.size, message.dest, message.tag)
                pending.append(sent)
                if message.blocking:
                    yield from sent.wait()
        yield from comm.waitall(pending)
        return made.sim.now

    ends = made.run(main)
    last = max(range(len(ends)), key=lambda rank: ends[rank])
    steps = path.back(last, ends[last], 0)
    assert sum(step.duration_ps for step in steps) == ends[last]
    assert "other" not in {step.name for step in steps}
    assert steps[-1].to == last
    at, before = steps[0].rank, None
    for step in steps:
        way = (step.rank, step.to) if step.on_the_way else None
        assert step.rank == at or way == before
        at, before = step.to, way
        if step.on_the_way:
            stages = sum(round(stage["us"] * 1e6) for stage in step.stages)
            assert stages == step.duration_ps
