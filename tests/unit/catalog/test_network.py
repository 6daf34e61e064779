"""Networks as files describe them: what they mean, and what is said of those that cannot be."""

from pathlib import Path

import pytest

from hcasim.catalog import CatalogError, resolve
from hcasim.catalog.wiring import Way

pytestmark = pytest.mark.usefixtures("data")

GUESS = 'evidence = "assumed", source = "invented" }'
GROUP = f"""
[nodes.NAME]
count = {{ value = COUNT, {GUESS}
host = "xeon-e7520"
stack = "vapi"
adapters = ["ADAPTER"]
ports = {{ value = 1, {GUESS}
"""
GROUPS = (
    GROUP.replace("NAME", "fast").replace("COUNT", "3").replace("ADAPTER", "mt25208")
    + GROUP.replace("NAME", "slow").replace("COUNT", "2").replace("ADAPTER", "mt23108")
    + f'\n[nodes.slow.link]\ncable_length = {{ value = "9 m", {GUESS}\n'
)
EDR = 'speed = { value = "EDR", evidence = "assumed", source = "invented" }\n'
SLOW = """[port]
speed = { value = "SDR", evidence = "assumed", source = "invented" }
width = { value = 4, evidence = "assumed", source = "invented" }
"""
SWITCHES = """
[network]
kind = "explicit"
switch = "infiniscale"

[network.switches.left]
nodes = ["fast[0:2]"]

[network.switches.right]
nodes = ["fast[2]", "slow"]

[network.switches.spare]

[network.trunks.main]
between = ["left", "right"]
parallel = { value = 2, evidence = "assumed", source = "invented" }
width = { value = 1, evidence = "assumed", source = "invented" }

[network.trunks.a]
between = ["left", "spare"]

[network.trunks.b]
between = ["spare", "right"]
"""
RIGHT = '["fast[2]", "slow"]'
NODES = "network.switches.right.nodes: found "
CABLES = 'value = {}, evidence = "assumed", source = "invented" }}\nwidth'


@pytest.fixture
def lab(data: Path) -> Path:
    """A testbed of two groups on named switches."""
    bed = (data / "models/testbeds/liu2004.toml").read_text()
    head, _, rest = bed.partition("[nodes]")
    link = "[link]" + rest.partition("[link]")[2]
    file = data / "models/testbeds/lab.toml"
    file.write_text(head.replace("liu2004", "lab", 1) + GROUPS + SWITCHES + link)
    return file


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new))


def faults(**settings: str) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        resolve("lab", overrides=settings)
    return caught.value.faults


@pytest.mark.usefixtures("lab")
def test_groups_have_adapters_links_and_numbers_of_their_own() -> None:
    machine = resolve("lab")
    groups = [(one.name, one.count, one.adapter.id) for one in machine.groups]
    assert groups == [("fast", 3, "mt25208"), ("slow", 2, "mt23108")]
    assert [one.adapter.ports for one in machine.groups] == [1, 1]
    assert [one.link.cable_length for one in machine.groups] == [5000, 9000]
    fast, slow = machine.groups
    places = [(fast, 1), (fast, 3), (slow, 4), (slow, 5)]
    assert [machine.place(node) for node in (0, 2, 3, 4)] == places
    assert (machine.nodes, machine.adapter, machine.host) == (5, fast.adapter, fast.host)


@pytest.mark.usefixtures("lab")
def test_trunks_have_cables_of_their_own_and_share_the_nodes() -> None:
    machine = resolve("lab")
    wiring = machine.wiring
    left = wiring.names.index("left")
    main = [way for way in wiring.ways[left] if way.trunk == "main"]
    assert [(way.link.width, way.link.speed) for way in main] == [(1, "SDR")] * 2
    assert machine.trunks["a"].width == 4
    ports = [way.port for lid in (3, 4, 5) if isinstance(way := wiring.out(left, lid), Way)]
    assert sorted(ports) == sorted([main[0].port, main[1].port, main[0].port])


def test_a_link_is_no_faster_than_the_switches_at_its_own_ends(lab: Path) -> None:
    slow = 'id = "slow"\ntitle = "Slow"\nbased_on = "infiniscale"\n' + SLOW
    (lab.parents[1] / "switches/slow.toml").write_text(slow)
    change(lab, "[network.trunks.main]\n", "[network.trunks.main]\n" + EDR)
    change(lab, "[network.switches.left]\n", '[network.switches.left]\nswitch = "slow"\n')
    (fault,) = faults()
    assert fault.startswith("lab: network.trunks.main.speed: found EDR; allowed: up to SDR, as the")
    change(lab, '\nswitch = "slow"\n', "\n")
    change(lab, "[network.switches.spare]\n", '[network.switches.spare]\nswitch = "slow"\n')
    assert resolve("lab").trunks["main"].speed == "EDR"


@pytest.mark.usefixtures("lab")
def test_a_setting_reaches_all_groups_or_one_and_the_special_one_wins() -> None:
    changed = resolve(
        "lab",
        overrides={
            "slow.adapter.send.latency": "2 us",
            "adapter.send.latency": "1 us",
            "link.cable_length": "7 m",
            "trunk.speed": "DDR",
            "network.trunks.main.width": "4",
            "adapter.bus.lanes": "4",
        },
    )
    assert [one.adapter.send.latency for one in changed.groups] == [10**6, 2 * 10**6]
    assert [one.link.cable_length for one in changed.groups] == [7000, 7000]
    assert changed.trunks["a"].cable_length == 7000
    assert {one.speed for one in changed.trunks.values()} == {"DDR"}
    assert changed.trunks["main"].width == 4
    assert changed.digest != resolve("lab").digest
    assert changed.groups[0].adapter.bus.lanes == 4


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (RIGHT, '["fast[2]"]', "network.switches: found slow[0] on no switch; allowed: each node"),
        (RIGHT, '["fast[1:3]", "slow"]', f"{NODES}'fast[1:3]', which is on left already"),
        (RIGHT, '["fast[2]", "slo"]', f"{NODES}'slo'; allowed: fast or slow, such as"),
        (RIGHT, '["fast[3]", "slow"]', f"{NODES}'fast[3]'; allowed: nodes 0 to 2 of fast"),
        ('["spare", "right"]', '["spare", "rigt"]',
         "network.trunks.b.between: found 'rigt'; allowed: left, right or spare; did you mean"),
        (CABLES.format(2), CABLES.format(9),
         "switch.ports: found 8; allowed: from 12, for the adapter ports and trunks on left"),
        ("[network.switches.spare]", "[network.switches.spare]\n\n[network.switches.lone]",
         "network: found no way from left to lone; allowed: trunks that connect all switches"),
    ],
)  # fmt: skip
def test_a_network_that_cannot_be_says_why(lab: Path, old: str, new: str, fault: str) -> None:
    change(lab, old, new)
    assert faults()[0].startswith(f"lab: {fault}"), faults()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("[nodes.fast]", '[nodes."a b"]', "nodes.a b: found 'a b'; allowed: a name of letters"),
        (
            'switch = "infiniscale"\n\n[network.switches.left]',
            "[network.switches.left]",
            "network: found switches without a model: left, right",
        ),
        ('"left", "right"]', '"left"]', "network.trunks.main.between: "),
        ('length = { value = "9', 'len = { value = "9', "nodes.slow.link.cable_len: unknown key"),
        ('kind = "explicit"', 'kind = "explcit"', "network.kind: found 'explcit'; allowed: "),
    ],
)  # fmt: skip
def test_a_fault_of_the_file_names_its_place(lab: Path, old: str, new: str, fault: str) -> None:
    change(lab, old, new)
    assert any(f"lab.toml: {fault}" in line for line in faults()), faults()


@pytest.mark.usefixtures("lab")
def test_two_hosts_back_to_back_are_one_of_each_group() -> None:
    machine = resolve("lab", switch=False)
    assert [(one.name, one.count) for one in machine.groups] == [("fast", 1), ("slow", 1)]
    assert (machine.switch, machine.nodes) == (None, 2)


@pytest.mark.usefixtures("lab")
def test_settings_change_how_many_nodes_a_group_has() -> None:
    machine = resolve("lab", overrides={"nodes.slow.count": "1"})
    assert {one.name: one.count for one in machine.groups}["slow"] == 1


@pytest.mark.parametrize("adapter", ["mt23108", "mt25208", "mt25218"])
def test_an_adapter_that_is_asked_for_is_in_every_group(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    machine = resolve("fat-tree-64", adapter=adapter)
    assert [one.adapter.id for one in machine.groups] == [adapter, adapter]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"network.oversubscription": "3"}, "leaves no whole number of uplinks; allowed: 1, 2, 4"),
        ({"network.oversubscription": "1"}, "switch.ports: found 24; allowed: from 32"),
        ({"network.levels": "1"}, "nodes: found 64 nodes with 64 adapter ports; allowed: up to 16"),
        ({"trunk.widht": "1"}, "did you mean 'trunk.width'?"),
        ({"storge.adapter.ports": "1"}, "did you mean 'storage.adapter.ports'?"),
        ({"storage.count": "2"}, "did you mean 'nodes.storage.count'?"),
        ({"nodes.count": "2"}, "allowed: nodes.compute.count or nodes.storage.count"),
        ({"nodes.storage.count": "400"}, "found 448 nodes with 448 adapter ports; allowed: up to"),
        (
            {"storage.adapter.bus.lanes": "1"},
            "there is no storage.adapter.bus.lanes here; allowed: ",
        ),
    ],
)
def test_a_fat_tree_says_what_it_has_no_room_for(
    settings: dict[str, str], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with pytest.raises(CatalogError) as caught:
        resolve("fat-tree-64", overrides=settings)
    assert any(fault in line for line in caught.value.faults), caught.value.faults
