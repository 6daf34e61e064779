"""Every fault of a file is reported, all at once, each with its place and what is allowed."""

import re
import tomllib
from pathlib import Path

import pytest

from hcasim.catalog import CatalogError, list_ids, load, load_fit, loader, read_toml, resolve
from hcasim.catalog.loader import each_file_once
from tests.unit.catalog.conftest import Edit, FaultsOf

PCIE = "models/adapters/mt25208.toml"
PCIX = "models/adapters/mt23108.toml"
BED = "models/testbeds/liu2004.toml"
FIT = "calibration/fits/liu2004.toml"

INFORMED = "allowed: informed, fit, evidence or source"
LANES = 'lanes = { value = 8, evidence = "datasheet",'
SEND = 'send.latency" = { value = "600 ns" }'

pytestmark = pytest.mark.usefixtures("data")

FAULTS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text())
CASES = [(file, *case) for file, table in FAULTS.items() for case in table["cases"]]


@pytest.mark.parametrize(("file", "old", "new", "fault"), CASES)
def test_a_fault_names_its_place_and_what_is_allowed(
    edit: Edit, faults_of: FaultsOf, file: str, old: str, new: str, fault: str
) -> None:
    edit(file, old, new)
    _, kind, name = Path(file).with_suffix("").parts
    faults = faults_of(*(("mt25208",) if kind == "fits" else (name, kind)))
    # … stands for anything.
    pattern = ".*".join(re.escape(part) for part in f"{file}: {fault}".split("…"))
    assert any(re.match(pattern, line) for line in faults), faults


def test_a_fitted_leaf_has_a_fit_and_no_value(data: Path, edit: Edit, faults_of: FaultsOf) -> None:
    path = data / PCIE
    leaf = r'\{ evidence = "fitted", fit = "liu2004", source = "[^"]*" \}'
    head, *rest = re.split(leaf, path.read_text())
    wrong = [
        '{ evidence = "fitted", fit = "liu2004", value = "1 ns", source = "unpublished" }',
        '{ evidence = "fitted", source = "unpublished" }',
        '{ evidence = "fitted", fit = "lui2004", source = "unpublished" }',
        '{ evidence = "fitted", fit = "liu2004" }',
    ]
    path.write_text(head + "".join(new + text for new, text in zip(wrong, rest, strict=True)))
    assert faults_of("mt25208") == [
        f"{PCIE}: send.latency.value: unknown key; allowed: informed, fit, evidence or source",
        f"{PCIE}: receive.latency.fit: missing; allowed: liu2004",
        (
            f"{PCIE}: receive_queue.latency.fit: calibration/fits: found no calibration 'lui2004'"
            "; allowed: liu2004; did you mean 'liu2004'?"
        ),
        f"{PCIE}: responder.latency.source: missing; allowed: where the value comes from",
    ]


def test_a_chosen_leaf_lists_the_claims_that_it_was_chosen_from(
    edit: Edit, faults_of: FaultsOf
) -> None:
    chosen = LANES.replace("datasheet", "chosen")
    edit(PCIE, LANES, f'{chosen} claims = ["LIU-065", "LIU-072"],')
    lanes = {p.path: p for p in load("mt25208").parameters}["bus.lanes"]
    assert (lanes.evidence, lanes.claims) == ("chosen", ("LIU-065", "LIU-072"))
    edit(PCIE, 'claims = ["LIU-065", "LIU-072"]', "claims = []")
    assert faults_of("mt25208") == [f"{PCIE}: bus.lanes.claims: found []; allowed: one or more"]
    edit(PCIE, " claims = [],", "")
    allowed = "allowed: a list of ids of claims"
    assert faults_of("mt25208") == [f"{PCIE}: bus.lanes.claims: missing; {allowed}"]


def test_only_what_was_chosen_has_claims_of_its_own(edit: Edit, faults_of: FaultsOf) -> None:
    edit(PCIE, LANES, f'{LANES} claims = ["LIU-065"],')
    edit(PCIE, 'source = "time to start', 'claims = ["LIU-041"], source = "time to start')
    assert faults_of("mt25208") == [
        f"{PCIE}: bus.lanes.claims: unknown key; allowed: informed, value, evidence or source",
        f"{PCIE}: responder.latency.claims: unknown key; {INFORMED}",
    ]


def test_all_faults_of_a_file_come_at_once(data: Path, edit: Edit, faults_of: FaultsOf) -> None:
    edit(PCIE, LANES, LANES.replace("8", "3"))
    edit(PCIE, "[sqpc]\nentries = { value = 64", "[sqpc]\nentries = { value = 65")
    edit(PCIE, "[limits]\nmax_qp", "[limits]\nmaxqp")
    edit(FIT, '"2500 ns"', '"2500"')
    faults = faults_of("mt25208")
    places = ["bus.lanes", "entries.adapters.mt25208.responder.latency", "sqpc"]
    places += ["limits.max_qp", "limits.maxqp"]
    assert [fault.split(": ")[1] for fault in faults] == places


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"id = x", "not valid TOML: .*line 1, column 6"),
        (b"id = 'a'\nid = 'b'\n", "not valid TOML: .*line 2"),
        (b"id = '\xff'", "not UTF-8 text at byte 6"),
        (b"id = " + b"9" * 5000, "not valid TOML: "),
        (b"id = " + b"[" * 100_000, "not valid TOML: "),
        (b"", "id: missing"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    data: Path, faults_of: FaultsOf, content: bytes, fault: str
) -> None:
    (data / PCIE).write_bytes(content)
    assert re.match(f"{re.escape(PCIE)}: {fault}", faults_of("mt25208")[0])


def test_a_missing_file_is_named_with_what_is_beside_it(data: Path) -> None:
    said = "mt2520.toml: no such file; its folder holds mt23108.toml or mt25208.toml; did you mean"
    with pytest.raises(CatalogError, match=f"^models/adapters/{said} 'mt25208.toml'"):
        read_toml(data / "models" / "adapters" / "mt2520.toml")


def test_an_unknown_id_lists_the_known_ones(data: Path, faults_of: FaultsOf) -> None:
    known = "allowed: mt23108 or mt25208; did you mean 'mt25208'?"
    assert faults_of("mt2528", "adapters") == [
        f"models/adapters: found no adapter 'mt2528'; {known}"
    ]
    assert faults_of("../xeon-e7520", "adapters")[0].endswith(
        "xeon-e7520: no such file; its folder holds nothing"
    )
    assert faults_of("infiniscal")[0].endswith("did you mean 'infiniscale'?")


def test_an_unknown_kind_lists_the_known_ones(faults_of: FaultsOf) -> None:
    fault = "kind: found 'adapter'; allowed: adapters, hosts, switches, stacks"
    assert faults_of("mt25208", "adapter")[0].startswith(fault)
    with pytest.raises(CatalogError, match=r"or calibrations; did you mean 'scenarios'\?"):
        list_ids("scenario")
    with pytest.raises(CatalogError, match="found no calibration 'liu2005'; allowed: liu2004"):
        load_fit("liu2005")


def test_a_fitted_leaf_takes_value_interval_and_claims_from_its_fit(data: Path) -> None:
    parameters = {p.path: p for p in load("mt25208").parameters}
    queue = parameters["receive_queue.latency"]
    assert (queue.value, queue.text, queue.unit) == (100_000, "100 ns", "ps")
    assert (queue.evidence, queue.interval) == ("fitted", (50_000, 200_000))
    assert queue.claims == ("LIU-038",)


def test_a_tied_leaf_follows_its_leader_and_says_so(data: Path, edit: Edit) -> None:
    new = 'send.latency" = { value = "700 ns", interval = ["1 ns", "2 us"], claims = ["A"] }'
    edit(FIT, SEND, new)
    tied = {p.path: p for p in load("mt25208").parameters}["receive.latency"]
    assert (tied.value, tied.interval, tied.claims) == (700_000, (1_000, 2_000_000), ("A",))
    assert tied.source.endswith(
        "; fit liu2004, tied to adapters.mt25208.send.latency (only the sum counts)"
    )


@pytest.mark.parametrize("bridges", [3, 5])
def test_three_buses_and_the_bridges_between_them_are_enough(
    bridges: int, data: Path, faults_of: FaultsOf
) -> None:
    file = data / "models/adapters/deep.toml"
    inner = 'bus = { kind = "pcie", bridge = { ' * bridges + 'bus = { kind = "pcie"'
    text = 'id = "deep"\nbased_on = "mt25208"\ntitle = "bridges"\n'
    file.write_text(text + inner + " }" * (2 * bridges + 1))
    place = "models/adapters/deep.toml: bus.bridge.bus.bridge.bus.bridge"
    allowed = "allowed: three buses and the bridges between them"
    found = faults_of("deep", "adapters")
    assert f"{place}: found too many sections in each other; {allowed}" in found


def test_a_file_is_read_once_in_a_block_and_again_in_the_next(
    data: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    monkeypatch.setattr(loader, "read_toml", lambda file: read.append(file) or read_toml(file))
    with each_file_once():
        before = resolve("liu2004").mtu
        edit(BED, f'mtu = {{ value = "{before} B"', 'mtu = { value = "512 B"')
        assert resolve("liu2004", overrides={"adapter.bus": "mt23108"}).mtu == before
        assert len(read) == len(set(read))
    assert resolve("liu2004").mtu == 512


def test_descriptions_are_based_on_so_many_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = "mt23108"
    for number in range(1500):
        (tmp_path / f"a{number}.toml").write_text(
            f'id = "a{number}"\ntitle = "x"\nbased_on = "{base}"\n'
        )
        base = f"a{number}.toml"
    for name in ("a40.toml", "a1499.toml"):
        with pytest.raises(CatalogError, match=r"a\d+.toml: based_on: found 33 files; allowed: up"):
            load(name)
        with pytest.raises(CatalogError, match=r"a\d+.toml: based_on: found 33 files; allowed: up"):
            load(name, "adapters")
    assert load("a20.toml", "adapters").model.id == "a20"
