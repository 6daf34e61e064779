"""The statements of benjegerdes2004 hold for the reasons that the paper gives."""

import pytest

from hcasim.catalog import resolve
from hcasim.papers.loader import load_scenarios
from hcasim.workloads import Options, run_point

SCENARIOS = load_scenarios(["benjegerdes2004"])
FLAG = "host.pcix_bridge.streaming"
BEDS = [
    ("benjegerdes2004", {}),
    ("benjegerdes2004", {FLAG: "true"}),
    ("benjegerdes2004-opteron", {}),
    ("benjegerdes2004-g5", {}),
]


def test_the_testbeds_are_those_described() -> None:
    named = {
        testbed for scenario in SCENARIOS for testbed in map(scenario.testbed_of, scenario.series)
    }
    hosts = {
        "benjegerdes2004": ("dell-2650", 2),
        "benjegerdes2004-linux26": ("dell-2650", 2),
        "benjegerdes2004-opteron": ("opteron-8131", 2),
        "benjegerdes2004-g5": ("powermac-g5", 1),
        "benjegerdes2004-g5-osx": ("powermac-g5", 1),
    }
    machines = {name: resolve(name) for name in named}
    assert {name: (one.host.id, one.host.cpus) for name, one in machines.items()} == hosts
    assert {(one.adapter.id, one.nodes) for one in machines.values()} == {("mt23108", 2)}


def test_opteron_and_g5_have_the_same_bridge_and_the_g5_one_more() -> None:
    opteron, g5 = resolve("benjegerdes2004-opteron").host, resolve("benjegerdes2004-g5").host
    assert opteron.pcix_bridge == g5.pcix_bridge
    assert opteron.io_bridge is None
    assert g5.io_bridge is not None


def test_the_flag_is_clear_in_one_curve_of_figure_2_and_before_2004() -> None:
    flags = {
        f"{scenario.figure}:{name}": (one.settings or {}).get(FLAG)
        for scenario in SCENARIOS
        for name, one in scenario.series.items()
        if resolve(scenario.testbed_of(name)).host.id == "dell-2650"
    }
    unset = [name for name, flag in flags.items() if not flag]
    assert unset == ["2:clear", "7:infinicon", "7:mvapich"]
    assert resolve("benjegerdes2004").host.pcix_bridge.streaming is False


@pytest.mark.parametrize(("testbed", "settings"), BEDS)
def test_the_bus_limits_the_peak_bandwidth(testbed: str, settings: dict[str, str]) -> None:
    options = Options(size=2**20, iters=10, warmup=3, verb="send", explain=True)
    found = run_point("netpipe", resolve(testbed, overrides=settings), options)
    assert found.breakdown["binds"] in ("node0.bus.bus", "node0.bus.outstanding_splits")


@pytest.mark.parametrize("testbed", sorted({testbed for testbed, _ in BEDS}))
def test_behind_pci_express_the_link_would_limit_it(testbed: str) -> None:
    options = Options(size=2**20, iters=10, warmup=3, verb="send", explain=True)
    machine = resolve(testbed, overrides={"adapter.bus": "mt25208"})
    found = run_point("netpipe", machine, options)
    assert found.breakdown["binds"] == "node0.hca.port1.link"
    # liu2004 section IV.B.2 measures 972 MB/s of the same link behind PCI Express.
    assert found.row["bandwidth_MBps"] == pytest.approx(972, rel=0.01)


def test_six_gigabits_need_the_flag_however_a_gigabit_is_counted() -> None:
    options = Options(size=2**20, iters=10, warmup=3, verb="send")
    with_flag, without = (
        run_point("netpipe", resolve("benjegerdes2004", overrides=settings), options).row
        for settings in ({FLAG: "true"}, {})
    )
    # 10^9 bit/s, and NetPIPE's 1000 x 2^20 bit/s.
    assert with_flag["throughput_Mbps"] > 6000
    assert without["bandwidth_MBps"] * 8 / 1000 < 6
