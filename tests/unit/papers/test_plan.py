"""A figure needs the points that its authors measured, on the machines that they had."""

from collections.abc import Callable

import pytest

from hcasim.catalog import CatalogError
from hcasim.papers.loader import load_scenario
from hcasim.papers.plan import plan


def test_a_what_if_changes_the_machine_of_the_chosen_series() -> None:
    (line,) = plan(
        load_scenario("liu2004/fig03"), series=["pcie"], overrides={"adapter.bus.lanes": "1"}
    ).lines
    assert line.jobs[0].machine.overrides == {"adapter.bus.lanes": "1"}


def test_the_options_are_those_of_the_authors() -> None:
    lines = {line.name: line for line in plan(load_scenario("liu2004/fig10")).lines}
    options = lines["pcix_binding"].jobs[0].options
    assert (options.mode, options.ports, options.processes) == ("binding", 2, 2)
    assert (options.window, options.warmup, options.iters) == (64, 10, 100)


FLAG = "host.pcix_bridge.streaming"


def flags(overrides: dict[str, str] | None = None) -> dict[str, bool]:
    """Whether the bridge of each series runs on over boundaries."""
    lines = plan(load_scenario("benjegerdes2004/fig02"), overrides=overrides).lines
    return {line.name: line.jobs[0].machine.host.pcix_bridge.streaming for line in lines}


def test_the_flag_of_the_chipset_is_set_where_the_authors_set_it() -> None:
    assert flags() == {"set": True, "clear": False}


def test_a_what_if_goes_before_the_flag_of_the_chipset() -> None:
    assert flags({FLAG: "false"}) == {"set": False, "clear": False}
    assert flags({FLAG: "true"}) == {"set": True, "clear": True}


def test_a_series_may_have_queue_pairs_and_a_place_of_its_buffers_of_its_own() -> None:
    given = {
        (one.jobs[0].options.qps, one.jobs[0].machine.adapter.firmware_mode)
        for one in plan(load_scenario("sur2005/fig3a")).lines
    }
    assert given == {(1, "mem"), (1, "memfree"), (128, "mem"), (128, "memfree")}
    places = [one.jobs[0].options.memory for one in plan(load_scenario("sur2005/fig2")).lines]
    assert places == ["adapter", "host", "adapter", "host"]


def test_a_series_may_be_of_more_nodes_or_processes() -> None:
    (four,) = plan(load_scenario("rashti2007/fig8b")).lines
    assert (four.jobs[0].options.nodes, four.jobs[0].options.processes) == (4, 1)
    (two,) = plan(load_scenario("rashti2007/fig8a")).lines
    assert (two.jobs[0].options.nodes, two.jobs[0].options.processes) == (2, 2)


def test_what_the_workload_does_not_measure_is_a_fault(edit: Callable[[str, str], None]) -> None:
    edit('field = "latency_us"', 'field = "total_KiB"')
    edit('quantity = "latency"', 'quantity = "time"')
    edit('label = "PCI-X"', 'label = "PCI-X"\nworkload = "reg_mr"\nresult = "rate_Mps"')
    with pytest.raises(CatalogError) as caught:
        plan(load_scenario("liu2004/fig03"))
    registration = "reg_mr measures registration_us or deregistration_us"
    assert caught.value.faults[:4] == [
        "liu2004/fig03: axes.field: needs total_KiB; write_lat measures latency_us",
        "liu2004/fig03: claims[1].quantity: needs time_us; write_lat measures latency_us",
        f"liu2004/fig03: series.pcix.result: needs rate_Mps; {registration}",
        f"liu2004/fig03: claims[2].quantity: needs latency_us; {registration}",
    ]


def test_an_overhead_is_over_what_another_workload_measures_too(
    edit: Callable[[str, str], None],
) -> None:
    edit('field = "latency_us"', 'field = "overhead_percent"')
    more = 'result = "latency_us"\nover = '
    edit('label = "PCI-X"', f'label = "PCI-X"\n{more}"write_bw"')
    edit('label = "PCI-Express"', f'label = "PCI-Express"\n{more}"rite_lat"')
    with pytest.raises(CatalogError) as caught:
        plan(load_scenario("liu2004/fig03"))
    first, second = caught.value.faults
    assert first.startswith("liu2004/fig03: series.pcix.over: needs latency_us; write_bw measures ")
    assert "'rite_lat'" in second
    assert second.endswith("did you mean 'write_lat'?")


def test_a_series_may_rotate_through_buffers(edit: Callable[[str, str], None]) -> None:
    edit('workload = "write_lat"', 'workload = "netpipe"')
    edit('adapter = "mt25208"', 'adapter = "mt25208"\nbuffers = 3')
    lines = plan(load_scenario("liu2004/fig03")).lines
    assert [line.jobs[0].options.buffers for line in lines] == [3, 1]


def test_a_series_of_netpipe_says_how_messages_travel_and_are_noticed() -> None:
    lines = {line.name: line for line in plan(load_scenario("benjegerdes2004/fig04")).lines}
    options = {name: lines[name].jobs[0].options for name in ("cq", "memory", "write")}
    assert {name: (one.verb, one.completion) for name, one in options.items()} == {
        "cq": ("send", "cq"),
        "memory": ("send", "memory"),
        "write": ("write", "memory"),
    }
