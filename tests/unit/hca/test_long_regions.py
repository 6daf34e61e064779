"""A region that one table does not reach looks up one more entry."""

import pytest

from hcasim.hca import Access
from tests.rig import Rig, extended, machine

LENGTH = 1 << 26


@pytest.mark.parametrize(("reach", "entries"), [(None, 2), (LENGTH, 2), (LENGTH - 1, 3)])
def test_a_long_region_looks_up_an_entry_of_a_table_of_tables(
    reach: int | None, entries: int
) -> None:
    rig = Rig(extended(machine(), adapter={"mtt": {"reach": reach}}))
    tables = rig.peers[0].adapter.tables
    region = tables.register(1, 1 << 30, LENGTH, Access.LOCAL_WRITE)
    beyond = tables.register(1, 1 << 34, 4096, Access.LOCAL_WRITE)
    done: list[int] = []
    before = tables.mtt.misses
    # Two pages far apart, so that they share no entry of either table.
    tables.translate(region, region.address, 8, done.append, 1)
    rig.sim.run()
    tables.translate(beyond, beyond.address, 8, done.append, 2)
    rig.sim.run()
    assert done == [1, 2]
    assert tables.mtt.misses - before == entries


def test_neighbouring_blocks_of_a_long_region_share_no_entry() -> None:
    rig = Rig(extended(machine(), adapter={"mtt": {"reach": 4096}}))
    tables = rig.peers[0].adapter.tables
    region = tables.register(1, 1 << 30, LENGTH, Access.LOCAL_WRITE)
    for block in range(4):
        address = region.address + block * 512 * 4096
        before = tables.mtt.misses
        tables.translate(region, address, 8, lambda: None)
        rig.sim.run()
        assert tables.mtt.misses - before == 2
        tables.translate(region, address + 4096, 8, lambda: None)
        rig.sim.run()
        assert tables.mtt.misses - before == 3
