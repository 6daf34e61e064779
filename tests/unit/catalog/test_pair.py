"""Any adapter in any host, with its fastest links (pair, pair-roce), in a slot that fits."""

from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import (
    Adapter,
    CatalogError,
    EthernetLink,
    InfinibandLink,
    Machine,
    list_ids,
    load,
    resolve,
)
from hcasim.catalog.link import NO_CODE, USUAL_CODES, Rocev2Protocol
from hcasim.runs.benchmark import bench
from tests.unit.catalog.conftest import refused

ADAPTERS, HOSTS = list_ids("adapters"), list_ids("hosts")
CARD = """id = "card"
title = "A card with ports of both kinds and a wide slot"
based_on = "mt25218-ddr"
port = { speed = { value = "HDR", GUESS }, gigabits = { value = 200, GUESS } }
limits = { max_mtu = { value = "4096 B", GUESS } }
[bus]
generation = { value = 4, GUESS }
lanes = { value = 16, GUESS }
max_payload = { value = "512 B", GUESS }
"""
SLOT = """id = "box"
title = "A host with a small slot"
based_on = "generic-modern"
[slot]
generation = { value = 3, GUESS }
lanes = { value = 8, GUESS }
max_payload = { value = "128 B", GUESS }
"""


def written(file: Path, text: str) -> str:
    file.write_text(text.replace("GUESS", 'evidence = "assumed", source = "invented"'))
    return str(file)


@pytest.fixture
def card(tmp_path: Path) -> str:
    return written(tmp_path / "card.toml", CARD)


@pytest.fixture
def box(tmp_path: Path) -> str:
    return written(tmp_path / "box.toml", SLOT)


def latency(**chosen: Any) -> float:
    (row,) = bench("write_lat", "pair", size=8, iters=20, **chosen).curve.rows
    return float(row["latency_us"])


def telemetry(adapter: str) -> dict[str, str]:
    """The switch that an adapter has to have, if any."""
    cc = load(adapter, "adapters").values.get("roce_cc") or {}
    return {"switch": "ideal-32-marks"} if cc.get("algorithm") == "hpcc" else {}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_adapter_runs_in_the_usual_host(adapter: str) -> None:
    if isinstance(load(adapter, "adapters").model, Adapter):
        assert 0 < latency(adapter=adapter, **telemetry(adapter)) < 20
    else:
        (row,) = bench("lat_rd", "pair", adapter=adapter, size=64, iters=20).curve.rows
        assert 0 < row["latency_us"] < 20


@pytest.mark.parametrize(
    ("adapter", "verbs", "mpi"),
    [
        ("mt25208", "vapi", "mvapich-0.9.5"),
        ("mt25218-ddr", "ofed", "mvapich2"),
        ("ne010e", "nes", "mpich2-nes"),
        ("connectx2", "ofed", "mvapich2"),
        ("connectx3", "rdma-core", "openmpi-ucx"),
        ("bluefield-3", "rdma-core", "openmpi-ucx"),
    ],
)
def test_the_software_is_that_of_the_time_of_the_adapter(
    adapter: str, verbs: str, mpi: str
) -> None:
    assert resolve("pair", adapter=adapter).stack.id == verbs
    assert resolve("pair", adapter=adapter, mpi=True).stack.id == mpi
    assert resolve("pair", adapter=adapter, stack="rdma-core").stack.id == "rdma-core"


def test_a_testbed_that_names_its_software_has_that_with_any_adapter() -> None:
    assert resolve("liu2004", adapter="connectx2").stack.id == "vapi"
    assert resolve("liu2004", adapter="connectx2", mpi=True).stack.id.startswith("mvapich")


@pytest.mark.parametrize(
    ("adapter", "link"), [("connectx6-hdr100", ("HDR", 2)), ("connectx7-ndr200", ("NDR", 2))]
)
def test_a_card_of_half_the_rate_has_two_lanes(adapter: str, link: tuple[str, int]) -> None:
    machine = resolve("pair", adapter=adapter)
    assert isinstance(machine.link, InfinibandLink)
    assert (machine.link.speed, machine.link.width) == link
    rates = []
    for card in (adapter, adapter.partition("-")[0]):
        options = {"size": "1M", "qps": 8, "iters": 8, "host": "epyc-genoa"}
        (row,) = bench("write_bw", "pair", adapter=card, **options).curve.rows
        rates.append(row["bandwidth_MBps"])
    assert rates[0] / rates[1] == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("adapter", "switch", "link"),
    [("connectx6-hdr100", "switch-ib", ("EDR", 4)), ("connectx7-ndr200", "quantum", ("HDR", 4))],
)
def test_two_fast_lanes_are_four_of_the_next_rate(
    adapter: str, switch: str, link: tuple[str, int]
) -> None:
    found = resolve("pair", adapter=adapter, switch=switch).link
    assert isinstance(found, InfinibandLink)
    assert (found.speed, found.width) == link


def test_every_adapter_fits_every_host() -> None:
    for host in HOSTS:
        for adapter in ADAPTERS:
            machine = resolve("pair", adapter=adapter, host=host, **telemetry(adapter))
            assert (machine.adapter.id, machine.host.id, machine.nodes) == (adapter, host, 2)


def test_a_switch_adds_its_latency_and_a_second_cable() -> None:
    through = latency(switch="switch-ib")
    # 90 ns, and 2 m of 5 ns/m; nothing waits for a packet to be whole.
    assert through - latency() == pytest.approx(0.100, abs=0.001)


@pytest.mark.parametrize(
    ("switch", "link"),
    [
        ("quantum-2", ("NDR", 4)),
        ("quantum", ("HDR", 4)),
        ("switch-ib", ("EDR", 4)),
        ("infiniscale-iv", ("QDR", 4)),
        ("infiniscale-iii-ddr", ("DDR", 4)),
        ("spectrum", (100,)),
        ("xg700", (10,)),
    ],
)
def test_links_are_no_faster_than_the_ports_of_the_switch(
    switch: str, link: tuple[object, ...]
) -> None:
    machine = resolve("pair", adapter="connectx7", switch=switch)
    keys = ("speed", "width") if len(link) == 2 else ("gigabits",)
    assert tuple(getattr(machine.link, key) for key in keys) == link
    known = {one.path: one for one in machine.parameters}
    says = f"the ports of {switch} allow no more: "
    own = load("connectx7", "adapters").values["port"][keys[0]]
    assert known[f"link.{keys[0]}"].source.startswith(says) == (own != link[0])
    code = known["link.fec.code"].value
    assert code == USUAL_CODES.get(link[0], NO_CODE)[0]


def test_a_switch_that_does_not_say_what_its_ports_take_takes_all(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('id = "mine"\ntitle = "Any"\nbased_on = "sx6036"\nport = false\n')
    machine = resolve("pair", adapter="connectx7", switch=str(file))
    assert (machine.link.speed, machine.hca.protocol.kind) == ("NDR", "infiniband")
    assert isinstance(resolve("nvmf", switch=str(file)).link, EthernetLink)


SPEAKS = {"adapter.protocol.kind": "infiniband"}
NARROW = {"switch.port.width": 1}


@pytest.mark.parametrize(
    ("testbed", "chosen", "place", "found", "allowed"),
    [
        ("pair", {"adapter": "connectx3"}, "link.kind", "infiniband", "ethernet"),
        ("pair", {"overrides": SPEAKS}, "link.kind", "infiniband", "ethernet"),
        ("liu2004", {"switch": "xg700"}, "link.kind", "infiniband", "ethernet"),
        ("nvmf", {"switch": "xg700"}, "link.gigabits", "100", "up to 10"),
        ("h20", {"switch": "sx6036"}, "link.speed", "NDR", "up to FDR"),
        ("fat-tree-64", {"switch": True, "overrides": NARROW}, "trunk.width", "4", "up to 1"),
        ("pair-roce", {"switch": "quantum"}, "link.kind", "ethernet", "infiniband"),
    ],
)
def test_a_link_that_the_switch_cannot_carry_is_refused(
    testbed: str, chosen: dict[str, Any], place: str, found: str, allowed: str
) -> None:
    chosen = {"switch": "spectrum", **chosen}
    switch = "infiniscale-iii" if chosen["switch"] is True else chosen["switch"]
    how = "which" if "kind" in place else "as"
    fault = (
        f"{testbed}: {place}: found {found}; allowed: {allowed}, {how} the ports of {switch} take"
    )
    assert fault in refused(testbed, **chosen)


def test_a_rate_that_a_setting_gives_is_a_what_if() -> None:
    assert resolve("h20", switch="sx6036", overrides={"link.speed": "HDR"}).link.speed == "HDR"
    tree = resolve("fat-tree-64", overrides={"trunk.speed": "DDR"})
    assert {one.speed for one in tree.trunks.values()} == {"DDR"}


def test_a_switch_of_another_testbed_may_be_of_another_model() -> None:
    for testbed in ("liu2004", "fat-tree-64"):
        machine = resolve(testbed, switch="infiniscale-iii-ddr")
        assert {one.id for one in machine.switches.values()} == {"infiniscale-iii-ddr"}
        assert type(machine.network) is type(resolve(testbed).network)


def test_links_are_the_fastest_of_the_ports(card: str, tmp_path: Path) -> None:
    machine = resolve("pair", adapter=card)
    assert isinstance(machine.link, InfinibandLink)
    assert (machine.link.speed, machine.link.width, machine.mtu) == ("HDR", 4, 4096)
    machine = resolve("pair", adapter=card, overrides={"adapter.protocol.kind": "rocev2"})
    assert isinstance(machine.link, EthernetLink)
    assert isinstance(machine.adapter.protocol, Rocev2Protocol)
    assert (machine.link.gigabits, machine.mtu) == (200, 4096)
    assert resolve("pair", adapter=card, overrides={"link.speed": "QDR"}).link.speed == "QDR"


def test_the_mtu_is_the_largest_that_the_adapter_takes() -> None:
    machine = resolve("pair", adapter="mt25208")
    assert machine.mtu == 2048
    (mtu,) = (one for one in machine.parameters if one.path == "mtu")
    assert mtu.source == "the largest that mt25208 takes"
    assert resolve("pair", adapter="mt25208", mtu=512).mtu == 512
    assert resolve("pair", adapter="ne010e", mtu=1500).mtu == 1500


def test_a_slot_trains_to_what_both_ends_can(card: str, box: str) -> None:
    def bus(machine: Machine) -> tuple[int, int, int]:
        device: Any = machine.adapter.bus
        return device.generation, device.lanes, device.max_payload

    assert bus(resolve("pair", adapter=card)) == (4, 16, 512)
    machine = resolve("pair", adapter=card, host=box)
    assert bus(machine) == (3, 8, 128)
    (lanes,) = (one for one in machine.parameters if one.path == "adapter.bus.lanes")
    assert lanes.source == "the slot of box allows no more: 16 (invented)"
    # No completion of the host is longer than the payloads of the link.
    assert machine.host.root_port.completion == 128
    # A small card in a large slot stays as it is.
    assert bus(resolve("pair", adapter="mt25218-ddr")) == (1, 8, 128)


@pytest.mark.parametrize("switch", [False, "quantum"])
def test_error_correction_costs_its_time_once_for_each_link(card: str, switch: Any) -> None:
    def time(code: str) -> float:
        return latency(adapter=card, switch=switch, overrides={"link.fec.code": code})

    # RS(544,514): 5120 bits of data at 200 Gbit/s, and 40 ns to decode.
    assert time("rs544") - time("none") == pytest.approx((2 if switch else 1) * 0.0656, abs=1e-4)


@pytest.mark.parametrize("adapter", ["connectx4", "connectx5", "connectx6", "connectx7"])
def test_links_of_the_other_pair_are_ethernet(adapter: str) -> None:
    machine = resolve("pair-roce", adapter=adapter)
    assert isinstance(machine.link, EthernetLink)
    assert isinstance(machine.hca.protocol, Rocev2Protocol)
    port = load(adapter, "adapters").values["port"]
    assert (machine.link.gigabits, machine.mtu) == (port["gigabits"], 1024)
    (row,) = bench("write_bw", "pair-roce", adapter=adapter, size="64K", iters=50).curve.rows
    assert 4000 < row["bandwidth_MBps"] < port["gigabits"] * 125


def test_what_is_no_rdma_adapter_may_be_there_too() -> None:
    for chosen in ({"testbed_id": "pair-roce"}, {"testbed_id": "pair", "switch": "spectrum"}):
        assert isinstance(resolve(adapter="nfp-6000", **chosen).link, EthernetLink)
    machine = resolve("pair", adapter="nfp-6000", switch="quantum")
    assert isinstance(machine.link, InfinibandLink)


def test_a_bus_outruns_its_slot_by_no_setting_and_a_host_without_a_slot_leaves_it(
    card: str, box: str
) -> None:
    def bus(testbed: str = "pair", **chosen: Any) -> Any:
        return resolve(testbed, **chosen).adapter.bus

    assert bus(adapter=card, host=box, overrides={"adapter.bus.lanes": 16}).lanes == 8
    both = {"adapter.bus.lanes": 16, "host.slot.lanes": 16}
    assert bus(adapter=card, host=box, overrides=both).lanes == 16
    assert bus(adapter=card, overrides={"host.slot.lanes": 4}).lanes == 4
    # The NE010e's chip is on a bus of its own; what is in the slot is behind the bridge.
    assert bus(adapter="ne010e", overrides={"host.slot.lanes": 4}).bridge.bus.lanes == 4
    assert bus("liu2004", adapter=card).lanes == 16


@pytest.mark.parametrize(
    ("testbed", "chosen", "settings", "limit", "why"),
    [
        ("pair", {"host": "epyc-rome"}, {"host.slot.lanes": "4", "adapter.bus.lanes": "8"},
         "4", "the slot of epyc-rome allows no more"),
        ("pair", {"host": "epyc-rome"}, {"adapter.bus.lanes": "2", "host.slot.lanes": "16"},
         "2", "the bus of connectx5 allows no more"),
        ("roce-100g", {}, {"adapter.port.gigabits": "400"}, "100", "the link allows no more"),
        ("pair", {}, {"adapter.bus.lanes": "4"}, "", ""),
        # Both have less than the limit unless they are set.
        ("pair", {"adapter": "connectx4-x8", "host": "ice-lake-sp"},
         {"adapter.bus.generation": "5"}, "4", "the slot of ice-lake-sp allows no more"),
        ("h20", {"adapter": "connectx7-ndr200"},
         {"adapter.port.width": "8"}, "4", "the link allows no more"),
    ],
)  # fmt: skip
def test_a_result_says_as_what_a_setting_counts_behind_a_narrower_end(
    testbed: str, chosen: dict[str, Any], settings: dict[str, str], limit: str, why: str
) -> None:
    def run(overrides: dict[str, str]) -> Any:
        return bench("write_lat", testbed, overrides=overrides, iters=4, jobs=1, **chosen)

    found, path = run(settings), [*settings][-1]
    told = [f"--set {path}={settings[path]} counts as {limit}: {why}."] * bool(limit)
    assert [one for one in found.notes if "allows no more" in one] == told
    if limit:
        assert run({**settings, path: limit}).curve.rows == found.curve.rows
    assert found.to_dict().get("notes", []) == [*found.notes]


@pytest.mark.parametrize(
    ("testbed", "adapter", "rate"),
    [
        ("h20", "connectx7-ndr200", ("NDR", 2)),
        ("h20", "connectx5", ("EDR", 4)),
        ("infinihost3-ddr", "mt25208", ("SDR", 4)),
        # A port of two fast lanes has four slower ones.
        ("val", "connectx7-ndr200", ("EDR", 4)),
    ],
)
def test_a_link_is_no_faster_than_the_port_of_a_card(
    testbed: str, adapter: str, rate: tuple[str, int]
) -> None:
    link = resolve(testbed, adapter=adapter).link
    assert isinstance(link, InfinibandLink)
    assert (link.speed, link.width) == rate
    if link.fec is not None:
        assert link.fec.code == ("none" if link.speed == "EDR" else "rs544")


@pytest.mark.parametrize(
    ("testbed", "chosen", "fault"),
    [
        ("pair", {"host": "haswell"}, "models/hosts: found no host 'haswell'; allowed: "),
        ("pair", {"switch": "quantun"}, "models/switches: found no switch 'quantun'; allowed: "),
        ("pair", {"switch": 3}, "switch: found 3; allowed: True, False or an id, or the path of"),
        ("pair", {"host": 3}, "host: found 3; allowed: an id, or the path of a file"),
        ("pair", {"overrides": {"switch.latency": "1 us"}},
         "--set switch.latency: there is no switch between two hosts back to back"),
        ("pair", {"overrides": {"link.kind": "ethernet"}},
         "--set link.kind: unknown parameter; allowed: link.speed, link.width, "),
        ("pair", {"overrides": {"adapter.port.speed": "NDRR"}},
         "--set adapter.port.speed: found 'NDRR'; allowed: SDR, "),
        ("pair-roce", {"adapter": "connectx3"},
         "adapter.port.gigabits: missing in connectx3, which speaks infiniband; allowed: a value"),
        ("pair-roce", {"overrides": SPEAKS},
         "pair-roce: adapter.protocol: found infiniband; allowed: a protocol of links of kind "),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(testbed: str, chosen: dict[str, Any], fault: str) -> None:
    (found,) = refused(testbed, **chosen)
    # Where the data of a package are, the path goes on before it.
    assert fault in found


def test_an_adapter_says_what_links_its_ports_take(tmp_path: Path) -> None:
    file = tmp_path / "bare.toml"
    file.write_text('id = "bare"\ntitle = "Without ports"\nbased_on = "mt25208"\nport = false\n')
    (fault,) = refused("pair", adapter=str(file))
    assert fault.endswith("a value, because pair takes the fastest link of its ports")


def test_settings_and_choices_change_the_links() -> None:
    def rate(**ports: Any) -> tuple[str, int]:
        settings = {f"switch.port.{key}": value for key, value in ports.items()}
        link = resolve("pair", switch="sx6036", overrides=settings).link
        return link.speed, link.width

    # A slower adapter stays slow.
    assert (rate(speed="NDR"), rate(width=1)) == (("EDR", 4), ("FDR", 1))
    chosen = {"adapter": "connectx7", "host": "epyc-genoa", "mtu": 4096}
    machine = resolve("pair-roce", switch="spectrum", **chosen)
    assert (machine.link.gigabits, machine.mtu, machine.host.id) == (100, 4096, "epyc-genoa")
    assert resolve("pair-roce", adapter="ne010e").hca.protocol.kind == "iwarp"


PCI_X_ONLY = "benjegerdes2004"


@pytest.mark.parametrize(
    "what_if", [{"overrides": {"adapter.bus": "mt25208"}}, {"adapter": "mt25218"}]
)
def test_a_root_port_stands_in_for_one_that_a_host_lacks(what_if: dict[str, object]) -> None:
    machine = resolve(PCI_X_ONLY, **what_if)
    assert machine.host.root_port == resolve("liu2004").host.root_port.model_copy(
        update={"short_read": 0}
    )
    for one in machine.parameters:
        if one.path.startswith("host.root_port."):
            assert one.source.startswith("no root_port in this host; that of generic: ")
    assert machine.host.id == "dell-2650"


def test_a_root_port_that_stands_in_can_be_set_and_one_that_is_not_there_cannot() -> None:
    settings = {"adapter.bus": "mt25208", "host.root_port.short_read": "256"}
    assert resolve(PCI_X_ONLY, overrides=settings).host.root_port.short_read == 256
    del settings["adapter.bus"]
    (fault,) = refused(PCI_X_ONLY, overrides=settings)
    assert "there is no host.root_port here; allowed: " in fault


@pytest.mark.parametrize(
    ("section", "adapter"), [("root_port", "mt25208"), ("pcix_bridge", "mt23108")]
)
def test_a_testbed_whose_host_lacks_the_slot_of_its_adapter_is_faulty(
    data: Path, section: str, adapter: str
) -> None:
    host = data / "models/hosts/xeon-e7520.toml"
    before, table, rest = host.read_text().partition(f"[{section}]")
    assert table
    host.write_text(before + rest.partition("\n\n")[2])
    (fault,) = refused("liu2004", adapter=adapter)
    assert fault == (
        f"host: found xeon-e7520, which has no {section}, and the bus of {adapter} needs one; "
        f"allowed: a host with a table [{section}]"
    )


def test_a_stack_in_cycles_asks_for_a_host_with_a_clock(tmp_path: Path) -> None:
    clockless = tmp_path / "clockless.toml"
    clockless.write_text(
        'id = "clockless"\nbased_on = "generic-modern"\ntitle = "no clock"\ncore = false\n'
    )
    fault = (
        r"host: found clockless, which has no clock; allowed: a table \[core\], because the work"
    )
    with pytest.raises(CatalogError, match=fault):
        resolve("pair", adapter="connectx5", host=str(clockless))
