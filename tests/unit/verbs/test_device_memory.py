"""Device memory: what there is, what the processor's copies take, and that DMA spares the bus."""

from typing import Any

import pytest

from hcasim.bus.pcie import PcieBus
from hcasim.bus.pcie_link import PROPAGATION_PS
from hcasim.verbs import DM, QP, SGE, Access, SendWR, VerbsError
from tests.rig import (
    ALL,
    FETCH_ADD,
    READ,
    WRITE,
    Peer,
    Program,
    Rig,
    counted,
    extended,
    machine,
    succeeded,
)

KIB = 1024
MOST = 128 * KIB
_TABLES = {f"adapter.{name}.location": "host" for name in ("sqpc", "rqpc", "cqc", "mpt", "mtt")}


def rig_of(adapter: str = "connectx5", **more: Any) -> Rig:
    """One whose adapter has 128 KiB, under the driver of an adapter."""
    base = machine(_TABLES, adapter="mt25218", firmware_mode="mem")
    return Rig(extended(base, adapter={"id": adapter, "memory": {"size": MOST}}), **more)


def refused(errno: str, said: str) -> Any:
    return pytest.raises(VerbsError, match=f"^{errno}: .*{said}")


@pytest.mark.parametrize(("adapter", "most"), [("connectx5", MOST), ("mt25218", 0)])
def test_a_driver_lets_programs_have_it_or_not(adapter: str, most: int) -> None:
    context = rig_of(adapter).peers[0].context
    assert context.query_device().max_dm_size == most
    if most:
        assert DM(context, most).length == most
    else:
        with refused("EOPNOTSUPP", "ibv_alloc_dm: max_dm_size of the adapter is 0"):
            DM(context, 4)


def test_it_takes_whole_pages_until_it_is_freed() -> None:
    context = rig_of().peers[0].context
    made = [DM(context, length) for length in (1, 4096, 4097)]
    assert [one.address for one in made] == [0, 4096, 8192]
    with refused("ENOMEM", f"{MOST - 4 * 4096} are free"):
        DM(context, MOST - 4 * 4096 + 1)
    made[1].free()
    assert DM(context, 100, 12).address == 4096
    with refused("EINVAL", "freed before"):
        made[1].free()
    with refused("EINVAL", "freed before"):
        made[1].copy_from_dm(0, 4)
    with refused("EINVAL", "length is 0"):
        DM(context, 0)
    with refused("EINVAL", "log_align_req is 13; allowed: 0 to 12"):
        DM(context, 4, 13)


def test_a_region_of_it_keeps_it() -> None:
    a, b = rig_of().peers
    dm = DM(a.context, 100)
    mr = a.pd.reg_dm_mr(dm, 4, 96, ALL)
    assert (mr.addr, mr.length, mr.pages) == (dm.address + 4, 96, 1)
    assert a.pd.reg_dm_mr(dm, 0, 0, ALL).length == 0
    with refused("EBUSY", "2 regions"):
        dm.free()
    for said, call in {
        "97 bytes from 4 on of device memory; it has 100": lambda: a.pd.reg_dm_mr(dm, 4, 97, ALL),
        "MW_BIND": lambda: a.pd.reg_dm_mr(dm, 0, 4, Access.MW_BIND),
        "needs local write": lambda: a.pd.reg_dm_mr(dm, 0, 4, Access.REMOTE_WRITE),
        "of another adapter": lambda: b.pd.reg_dm_mr(dm, 0, 4, ALL),
    }.items():
        with refused("EINVAL", said):
            call()
    again = DM(a.context, 100)
    last = a.pd.reg_dm_mr(again, 0, 100, ALL)
    last.dereg()
    again.free()
    with refused("EINVAL", "freed before"):
        a.pd.reg_dm_mr(again, 0, 100, ALL)


def test_it_is_registered_without_pinning() -> None:
    rig = rig_of()
    a = rig.peers[0]
    rig.run(a.pd.timed_reg_dm_mr(DM(a.context, MOST), 0, MOST, ALL))
    cost = a.context.stack.registration
    assert rig.sim.now == cost.call + cost.table_entry


def test_what_is_copied_there_is_read_back() -> None:
    rig = rig_of()
    dm = DM(rig.peers[0].context, 1000)
    data = bytes(range(200))

    def copies() -> Program:
        yield from dm.copy_to_dm(100, data)
        return (yield from dm.copy_from_dm(96, 208))

    (found,) = rig.run(copies())
    assert found == bytes(4) + data + bytes(4)
    for errno, offset, length in (
        *(("EFAULT", 1000, 4), ("EFAULT", 0, 1004), ("EFAULT", -4, 4)),
        *(("EINVAL", 1, 4), ("EINVAL", 4, 1)),
    ):
        with refused(errno, f"{length} bytes from {offset} on of device memory"):
            dm.copy_to_dm(offset, bytes(length))
        with refused(errno, f"{length} bytes from {offset} on of device memory"):
            dm.copy_from_dm(offset, length)


def test_each_word_that_is_read_crosses_the_bus_and_comes_back() -> None:
    rig = rig_of()
    context = rig.peers[0].context
    bus = context.node.bus
    assert isinstance(bus, PcieBus)
    dm = DM(context, 64)
    rig.run(dm.copy_from_dm(0, 8))
    # A request and a completion, the chipset twice, and 4 B of the memory.
    wire = bus.downstream.rate.time(20) + bus.upstream.rate.time(24)
    word = wire + 2 * PROPAGATION_PS + 2 * 100_000 + 500_000 + 2_000
    assert rig.sim.now == 2 * word
    context.costs.away = 5_000
    rig.run(dm.copy_from_dm(0, 4))
    assert rig.sim.now == 3 * word + 2 * 5_000


def test_stores_leave_by_lines_and_are_there_before_a_doorbell_behind_them() -> None:
    base = machine(_TABLES, adapter="mt25218", firmware_mode="mem")
    fast = extended(base, adapter={"id": "connectx5"})
    rig = Rig(counted(fast, blueflame=45), data=True)
    a, b = rig.peers
    dm = DM(a.context, 4096)
    mr = a.pd.reg_dm_mr(dm, 0, 4096, ALL)
    qp, _ = rig.connect(a, b)
    data = bytes(range(256)) * 4
    times = []

    def program() -> Program:
        yield from dm.copy_to_dm(32, data)
        times.append(rig.sim.now)
        request = a.request(WRITE, b, sg_list=(SGE(mr.addr + 32, len(data), mr.lkey),))
        yield from qp.post_send(request)

    rig.run(program())
    # 1,024 B from 32 on touch 17 lines.
    assert times == [17 * 45_000]
    assert rig.counter("bus_mmio_writes") == 17 + 1
    assert b.mr.read(len(data), 0) == data


def region(peer: Peer, length: int = 64 * KIB) -> tuple[DM, Any]:
    dm = DM(peer.context, length)
    return dm, peer.pd.reg_dm_mr(dm, 0, length, ALL)


def exchanged(rig: Rig, qp: QP, a: Peer, *requests: SendWR) -> None:
    assert succeeded(rig.exchange(qp, a, *requests))


@pytest.mark.parametrize("opcode", [WRITE, READ])
def test_messages_between_device_memories_spare_both_buses(opcode: Any) -> None:
    rig = rig_of()
    a, b, qp, _ = rig.joined()
    (here, near), (there, far) = region(a), region(b)
    source, target = (there, here) if opcode is READ else (here, there)
    length = 50_000
    source.contents.write(source.address, bytes(range(250)) * 200)
    request = SendWR(opcode, (SGE(near.addr, length, near.lkey),), remote_addr=far.addr)
    request.rkey = far.rkey
    exchanged(rig, qp, a, request)
    assert target.contents.read(target.address, length) == bytes(range(250)) * 200
    read = rig.counter("bus_read_bytes") - sum(
        rig.counter(f"{name}_fetch_bytes") for name in ("sqpc", "rqpc", "cqc", "mpt", "mtt")
    )
    assert (read, rig.counter("bus_write_bytes")) == (64, 32)
    found = rig.counter("local_memory_read_bytes"), rig.counter("local_memory_write_bytes")
    assert found == (length, length)


def test_an_atomic_works_on_a_word_of_it() -> None:
    rig = rig_of()
    a, b, qp, _ = rig.joined()
    dm, far = region(b, 64)
    rig.run(dm.copy_to_dm(8, (41).to_bytes(8, "little")))
    more = {"compare_add": 1, "remote_addr": far.addr + 8, "rkey": far.rkey}
    exchanged(rig, qp, a, a.request(FETCH_ADD, b, **more))
    (found,) = rig.run(dm.copy_from_dm(8, 8))
    assert int.from_bytes(found, "little") == 42


def test_other_rights_than_those_given_are_refused() -> None:
    rig = rig_of()
    a, b, qp, _ = rig.joined()
    dm = DM(b.context, 64)
    far = b.pd.reg_dm_mr(dm, 0, 64, Access.LOCAL_WRITE | Access.REMOTE_READ)
    exchanged(rig, qp, a, a.request(READ, b, remote_addr=far.addr, rkey=far.rkey))
    request = a.request(WRITE, b, remote_addr=far.addr, rkey=far.rkey)
    (refusal,) = rig.exchange(qp, a, request)
    assert refusal.status.name == "REM_ACCESS_ERR"
