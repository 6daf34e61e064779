"""A bus without competition takes the time of the closed forms, and never less with it."""

from fractions import Fraction

from hypothesis import assume, given

from hcasim.catalog import Host, PcieDevice, PcixDevice
from tests.buses import (
    WIRE_PS,
    Device,
    Operation,
    addresses,
    alone,
    cut,
    devices,
    hosts,
    in_one_piece,
    make,
    operations,
    pcie_byte,
    pcie_devices,
    pcix_devices,
    run,
    sizes,
    traffic,
    whole,
)


@given(devices, hosts(bandwidth=10**12), operations)
def test_an_operation_that_nobody_competes_with_takes_exactly_the_closed_form(
    device: Device, host: Host, operation: Operation
) -> None:
    operation = in_one_piece(device, operation)
    assert run(make(device, host), [operation]) == [alone(device, host, operation)]


@given(pcix_devices, hosts(bandwidth=10**12), operations)
def test_a_long_transfer_with_one_split_at_a_time_takes_exactly_the_sum_of_its_phases(
    device: PcixDevice, host: Host, operation: Operation
) -> None:
    device = device.model_copy(update={"outstanding_splits": 1})
    assert run(make(device, host), [operation]) == [alone(device, host, operation)]


@given(pcie_devices, hosts(bandwidth=10**12), addresses, sizes)
def test_a_long_write_takes_the_time_of_its_bytes_and_headers(
    device: PcieDevice, host: Host, address: int, size: int
) -> None:
    pieces = cut(address, size, device.max_payload)
    assume(len(pieces) <= host.root_port.posted_header_credits)
    assume(-(-size // 16) + len(pieces) <= host.root_port.posted_data_credits)
    wire = size + len(pieces) * (8 + (12 if device.address_bits == 32 else 16))
    (took,) = run(make(device, host), [Operation("write", address, size)])
    # Each burst of at least one piece is rounded to a whole picosecond.
    assert abs(took - WIRE_PS - wire * pcie_byte(device)) <= Fraction(len(pieces), 2)


@given(pcie_devices, hosts(bandwidth=10**12), addresses, sizes)
def test_a_long_read_takes_one_latency_and_the_longer_of_requests_and_completions(
    device: PcieDevice, host: Host, address: int, size: int
) -> None:
    pieces = cut(address, size, device.max_read_request)
    assume(len(pieces) <= min(device.read_tags, host.root_port.nonposted_header_credits))
    byte = pcie_byte(device)
    request = whole((8 + (12 if device.address_bits == 32 else 16)) * byte)
    completion = min(host.root_port.completion, device.max_payload)
    free = 0
    for number, piece in enumerate(pieces):
        acks = (number + 1) // device.dllp_tlps_per_ack - number // device.dllp_tlps_per_ack
        updates = (number + 1) // device.dllp_tlps_per_update - (
            number // device.dllp_tlps_per_update
        )
        tlps = len(cut(address, piece, completion))
        ready = (number + 1) * request + WIRE_PS + host.memory.read_latency
        free = max(free, ready) + (acks + updates) * whole(8 * byte)
        free += whole((piece + 20 * tlps) * byte)
        address += piece
    (took,) = run(make(device, host), [Operation("read", address - size, size)])
    assert took == free + WIRE_PS


@given(devices, hosts(), traffic, operations)
def test_competition_never_makes_an_operation_faster(
    device: Device, host: Host, others: list[Operation], operation: Operation
) -> None:
    if isinstance(device, PcixDevice) and operation.kind == "read":
        # The order of a long read's own requests and completions depends on the others.
        operation = in_one_piece(device, operation)
    (free,) = run(
        make(device, host), [Operation(operation.kind, operation.address, operation.size)]
    )
    assert run(make(device, host), [*others, operation])[-1] >= free


@given(devices, hosts(), traffic)
def test_no_operation_beats_its_closed_form(
    device: Device, host: Host, plan: list[Operation]
) -> None:
    plan = [in_one_piece(device, operation) for operation in plan]
    for operation, took in zip(plan, run(make(device, host), plan), strict=True):
        if isinstance(device, PcixDevice) or operation.kind != "read":
            assert took >= alone(device, host, operation)
        else:
            # Acks and updates may fall to the requests of others.
            dllps = 2 * whole(8 * pcie_byte(device))
            assert took >= alone(device, host, operation) - dllps
