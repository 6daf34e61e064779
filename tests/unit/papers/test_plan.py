"""A figure needs the points that its authors measured, on the machines that they had."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.papers.loader import load_scenario
from hcasim.papers.plan import Line, plan


def lines(scenario: str, **given: Any) -> dict[str, Line]:
    return {line.name: line for line in plan(load_scenario(scenario), **given).lines}


@pytest.mark.parametrize(
    ("scenario", "series", "options"),
    [
        ("liu2004/fig10", "pcix_binding", {"mode": "binding", "ports": 2, "processes": 2}),
        ("liu2004/fig10", "pcix_binding", {"window": 64, "warmup": 10, "iters": 100}),
        ("sur2005/fig2", "pcix_n_n", {"memory": "adapter"}),
        ("rashti2007/fig8b", "four_nodes", {"nodes": 4, "processes": 1}),
        ("rashti2007/fig8a", "two_pairs", {"nodes": 2, "processes": 2}),
        ("benjegerdes2004/fig04", "cq", {"verb": "send", "completion": "cq"}),
        ("benjegerdes2004/fig04", "memory", {"verb": "send", "completion": "memory"}),
        ("benjegerdes2004/fig04", "write", {"verb": "write", "completion": "memory"}),
    ],
)
def test_the_options_are_those_of_the_authors(
    scenario: str, series: str, options: dict[str, Any]
) -> None:
    found = vars(lines(scenario)[series].jobs[0].options)
    assert {name: found[name] for name in options} == options


def test_the_machine_is_that_of_the_series() -> None:
    fig3a = lines("sur2005/fig3a").values()
    given = {(one.jobs[0].options.qps, one.jobs[0].machine.adapter.firmware_mode) for one in fig3a}
    assert given == {(1, "mem"), (1, "memfree"), (128, "mem"), (128, "memfree")}
    found = lines("liu2004/fig03", series=["pcie"], overrides={"adapter.bus.lanes": "1"})
    assert found["pcie"].jobs[0].machine.overrides == {"adapter.bus.lanes": "1"}


FLAG = "host.pcix_bridge.streaming"


@pytest.mark.parametrize(
    ("what_if", "flags"),
    [
        (None, {"set": True, "clear": False}),
        ({FLAG: "false"}, {"set": False, "clear": False}),
        ({FLAG: "true"}, {"set": True, "clear": True}),
    ],
)
def test_the_flag_of_the_chipset_is_as_the_authors_set_it_unless_a_what_if_does(
    what_if: dict[str, str] | None, flags: dict[str, bool]
) -> None:
    found = lines("benjegerdes2004/fig02", overrides=what_if)
    assert {n: one.jobs[0].machine.host.pcix_bridge.streaming for n, one in found.items()} == flags


def test_a_series_may_set_any_setting_and_several_values_are_runs(
    edit: Callable[[str, str], None],
) -> None:
    settings = '{ "adapter.bus.mmrbc" = ["1024 B", "2048 B"], mtu = "2048 B" }'
    edit('adapter = "mt23108"', f'adapter = "mt23108"\nsettings = {settings}')
    line = lines("liu2004/fig03")["pcix"]
    machines = [points[0].machine for points in (line.jobs, *line.again)]
    assert [(one.adapter.bus.longest_read, one.mtu) for one in machines] == [
        (1024, 2048),
        (2048, 2048),
    ]
    assert line.overrides == {"mtu": "2048 B"}


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
    edit('the cause"', f'the cause"\n{more}"write_lat"')
    for label in ("PCI-X", "PCI-Express"):
        label = f'label = "{label}, without what'
        edit(label, f'{more}"write_lat"\n{label}')
    with pytest.raises(CatalogError) as caught:
        plan(load_scenario("liu2004/fig03"))
    first, second = caught.value.faults
    assert first.startswith("liu2004/fig03: series.pcix.over: needs latency_us; write_bw measures ")
    assert "'rite_lat'" in second
    assert second.endswith("did you mean 'write_lat'?")
