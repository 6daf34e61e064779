"""A calibration file that is damaged is refused, with its key and what is meant."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate import read_calibration
from hcasim.calibrate.entries import fit_path, prefixes
from hcasim.catalog import CatalogError, Testbed, list_ids, load, resolve
from hcasim.catalog.fits import FittedCurve, FittedTrace, Made
from hcasim.ground.errors import Fault
from hcasim.ground.reading import render_toml
from tests.unit.calibrate.calibrations import LANES, READ, SEND, contents


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def text(in_empty_folder: Path) -> str:
    return render_toml(contents())


def faults(text: str) -> list[str]:
    """What is said of a file with this text, without its name."""
    Path("cal.toml").write_text(text)
    with pytest.raises(CatalogError) as caught:
        read_calibration(Path("cal.toml"))
    assert all(isinstance(one, Fault) or "TOML" in one for one in caught.value.faults)
    assert all(fault.startswith("cal.toml: ") for fault in caught.value.faults)
    return [fault.removeprefix("cal.toml: ") for fault in caught.value.faults]


def like(found: str, fault: str) -> bool:
    """Whether a fault is as expected, where * stands for any words."""
    return re.fullmatch(re.escape(fault).replace(r"\*", ".*"), found) is not None


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def keeping(**entry: Any) -> str:
    """The file with another entry of the first value."""
    table = contents()
    table["entries"][SEND] |= entry
    return render_toml(table)


AT = f"entries.{SEND}"
KEYS = [
    (table, name)
    for table, keys in (("made", Made), ("traces", FittedTrace), ("curves", FittedCurve))
    for name, key in keys.model_fields.items()
    if key.is_required()
]


@pytest.mark.parametrize(("table", "name"), KEYS)
def test_a_key_that_is_misspelt_or_missing_is_named_and_nothing_else(
    text: str, table: str, name: str
) -> None:
    head, mark, tail = text.partition(f"[{table}]")
    where = table if table == "made" else f"{table}[1]"
    damaged = changed(tail, f"\n{name} =", f"\n{name[:1] + name[2:]} =")
    missing, fault = faults(head + mark + damaged)
    assert missing == f"{where}.{name}: missing"
    assert fault.startswith(f"{where}.{name[:1] + name[2:]}: unknown key; allowed: ")
    assert fault.endswith(f"; did you mean {name!r}?")
    (line,) = (one for one in tail.split("\n\n")[0].splitlines() if one.startswith(f"{name} ="))
    (fault,) = faults(head + mark + changed(tail, f"{line}\n", ""))
    assert fault == f"{where}.{name}: missing"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("[made]", "[mde]", "mde: unknown key; * did you mean 'made'?"),
        ("samples", "sample", f"{AT}.sample: unknown key; * did you mean 'samples'?"),
        ('."adapters.', '."adaptrs.', "* found 'adaptrs'; * did you mean 'adapters'?"),
        ("mt25208.send", "mt25208.sent", "*sent.latency: unknown parameter; *"),
        ("mt25208.send", "mt2520.send", "* did you mean 'mt25208'?"),
        ('id = "liu2004-mt25208"', "id = 5", "id: found 5; allowed: text"),
        ('value = "900 ns"', 'value = "900 parsecs"', f"{AT}.value: found '900 parsecs'*"),
        (
            "[890000, 910000]",
            "[890000]",
            "entries: found samples: 1 of *send.latency, 2 of *read_latency; *",
        ),
        ("[890000, 910000]", "[890000, -5]", f"{AT}.samples: found '-5 ps'*"),
        ("[890000, 910000]", "[]", f"{AT}.samples: missing"),
        (
            "[890000, 910000]",
            "[890000, 7900001]",
            f"{AT}.samples: found '7.900001 us'; allowed: 0 ns to 7.9 us, as its *",
        ),
        ("mtu = 1024", "mtu = 1000", "made.mtu: found 1000; allowed: 256 B*"),
        ("converged = true", "converged = false", "made.converged: found false; allowed: true*"),
        ('"soft_l1"', '"soft_l"', "made.loss: found 'soft_l'; * did you mean 'soft_l1'?"),
        ('"liu2004"', '"liu204"', "made.testbed: found 'liu204'; * did you mean 'liu2004'?"),
        ('"fitted"', '"fited"', "curves[1].role: found 'fited'; * did you mean 'fitted'?"),
        (f'"{LANES}"', '"adapter.bus.lanes"', f"settings.adapter.bus.lanes: * mean {LANES!r}?"),
        (".bus.lanes", ".bus.lnes", "settings.adapters.mt25208.bus.lnes: * mean 'bus.lanes'?"),
        (
            'bus.lanes" = "4"',
            'bus.clock" = "100 MHz"',
            "settings.*.bus.clock: there is no *",
        ),
        ('lanes" = "4"', 'lanes" = "5"', f"settings.{LANES}: found 5; allowed: 1, 2, 4, *"),
        ('lanes" = "4"', 'lanes" = 4', f"settings.{LANES}: found 4; allowed: text"),
        ('bus.lanes" = "4"', 'bus" = "pcy"', "settings.adapters.mt25208.bus: found 'pcy'; *"),
        (f'"{LANES}" = "4"', f'"{SEND}" = "1 us"', f"settings.{SEND}: found, and fitted, too; *"),
        (
            'mt25208.bus.lanes" = "4"',
            'mt23108.bus.clock" = "100 MHz"',
            "settings.adapters.mt23108.bus.clock: no part of liu2004 with mt25208, as made says; *",
        ),
        (
            f'"{LANES}" = "4"',
            f'"{LANES}" = "4"\n"adapters.mt25208.mtt.ways" = "7"',
            "settings.adapters.mt25208.mtt.ways: adapter.mtt: found 7 ways, *",
        ),
    ],
)
def test_what_is_damaged_is_named_and_nothing_else(
    text: str, old: str, new: str, fault: str
) -> None:
    (found,) = faults(changed(text, old, new))
    assert like(found, fault), found


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (
            {"value": "9000 ns"},
            "value: found '9000 ns'; allowed: 0 ns to 7.9 us, as its bounds say",
        ),
        ({"start": "8 us"}, "start: found '8 us'; allowed: 0 ns to 7.9 us, as its bounds say"),
        (
            {"value": "1000 ns"},
            "interval: found 850 ns to 950 ns; allowed: an interval that holds the value, 1 us",
        ),
        (
            {"interval": ("950 ns", "850 ns")},
            "interval: found 950 ns to 850 ns; allowed: a lower and a higher end within 0 ns to *",
        ),
        (
            {"interval": ("850 ns", "8 us")},
            "interval: found 850 ns to 8 us; allowed: a lower and a higher end within 0 ns to *",
        ),
        (
            {"bounds": ("7.9 us", "0 ns")},
            "bounds: found 7.9 us to 0 ns; allowed: a lower and a higher value",
        ),
        ({"bounds": ("0", "7.9 us")}, "bounds: found '0' *"),
        ({"interval": ("850 ns", 4)}, "interval: found 4 without a unit*"),
        (
            {"verdict": "only in combination with hosts.xeon-e7520.memory.read_latncy"},
            f"verdict: found 'hosts.xeon-e7520.memory.read_latncy', * did you mean {READ!r}?",
        ),
    ],
)
def test_a_value_agrees_with_its_interval_and_its_bounds(
    in_empty_folder: Path, entry: dict[str, Any], fault: str
) -> None:
    (found,) = faults(keeping(**entry))
    assert like(found, f"{AT}.{fault}"), found


@pytest.mark.parametrize("value", ["0 ns", "7.9 us"])
def test_a_value_may_be_at_its_bound(in_empty_folder: Path, value: str) -> None:
    text = keeping(value=value, interval=(value, value))
    Path("cal.toml").write_text(text)
    assert read_calibration(Path("cal.toml")).entries[SEND].value == value


def test_a_switch_is_not_set_where_there_was_none(text: str) -> None:
    bare = changed(text, "no_switch = false", "no_switch = true")
    Path("cal.toml").write_text(bare)
    assert read_calibration(Path("cal.toml")).base() == {"no_switch": True}
    setting = f'"{LANES}" = "4"\n"switches.infiniscale.latency" = "1 us"'
    (fault,) = faults(changed(bare, f'"{LANES}" = "4"', setting))
    assert fault.startswith("settings.switches.infiniscale.latency: there is no switch between")


@pytest.mark.parametrize(
    "faulty",
    [
        {"no_switch": "made.no_swich", "role =": "curves[1].rol", "title =": "titel"},
        {
            "mtu = 1024": "made.mtu",
            'value = "900 ns"': f"{AT}.value",
            ".bus.lanes": "settings.adapters.mt25208.bus.lnes",
            "[0, 600000]": f"entries.{READ}.samples",
        },
    ],
)
def test_all_faults_of_the_form_and_of_values_are_said_at_once(
    text: str, faulty: dict[str, str]
) -> None:
    spoilt = {
        "no_switch": "no_swich",
        "role =": "rol =",
        "title =": "titel =",
        "mtu = 1024": "mtu = 1000",
        'value = "900 ns"': 'value = "9000 ns"',
        ".bus.lanes": ".bus.lnes",
        "[0, 600000]": "[0, 6000000]",
    }
    for old in faulty:
        text = changed(text, old, spoilt[old])
    assert {*faulty.values()} <= {fault.partition(": ")[0] for fault in faults(text)}


def test_a_file_that_lacks_its_end_or_a_line_is_refused_or_says_the_same(
    text: str,
) -> None:
    file = Path("cal.toml")
    lines = text.splitlines(keepends=True)
    silent = []
    for number, line in enumerate(lines):
        if line.strip():
            file.write_text("".join(lines[:number] + lines[number + 1 :]))
            try:
                read_calibration(file)
            except CatalogError:
                continue
            silent.append(line.partition(" =")[0].strip())
    assert silent == ["title", "notes", "claims"]
    # All but the end of the last line.
    for end in range(len(text) - 1):
        if text[end - 1] == "\n" or not end % 101:
            assert faults(text[:end])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "found an empty file; allowed: a calibration file, as `hcasim calibrate"),
        ("# nothing\n", "found an empty file; allowed: a calibration file, as `hcasim calibrate"),
        (
            '{"record": "header", "schema": "hcasim-trace"}\n{}\n',
            "found a trace; `hcasim calibrate",
        ),
        ('{\n  "rows": []\n}\n', "found JSON; allowed: a calibration file"),
        ("id = 'liu2004'\n", "found no fitted value; allowed: a calibration file"),
        ("id = 'liu204'\n", "found no table made; allowed: that of a fit to traces"),
        ("samples = 4\n", "id: missing"),
        ("made = 1\n", "id: missing"),
        ("traces = 3", "id: missing"),
        ("settings = 3", "id: missing"),
        ("a b", "not valid TOML"),
    ],
)
def test_a_file_that_is_no_calibration_is_said_to_be_what_it_is(
    in_empty_folder: Path, content: str, fault: str
) -> None:
    assert faults(content)[0].startswith(fault)


def machines() -> list[tuple[str, str]]:
    found = []
    for testbed in list_ids("testbeds"):
        model = load(testbed, "testbeds").model
        assert isinstance(model, Testbed)
        if "nodes" in model.nodes:
            # A device that speaks no RDMA has none of the parameters that are fitted here.
            found += [
                (testbed, adapter)
                for adapter in model.nodes["nodes"].adapters
                if "dma" not in load(adapter, "adapters").values
            ]
    return found


def with_settings(testbed: str, adapter: str, settings: Mapping[str, str]) -> None:
    """Check that a calibration of a machine with such settings can be read."""
    path = f"adapters.{adapter}.send.latency"
    table = contents()
    mtu = resolve(testbed, adapter=adapter).mtu
    table["entries"] = {path: table["entries"][SEND]}
    table["made"] |= {"testbed": testbed, "adapter": adapter, "mtu": mtu}
    table["settings"] = {
        fit_path(prefixes(testbed, adapter), name): value for name, value in settings.items()
    }
    Path("cal.toml").write_text(render_toml(table))
    assert read_calibration(Path("cal.toml")).settings == table["settings"]


@pytest.mark.check
def test_whatever_show_prints_may_be_a_setting(in_empty_folder: Path) -> None:
    parts = ("adapter.", "host.", "switch.", "link.", "stack.")
    # One testbed of each adapter.
    for adapter, testbed in {adapter: testbed for testbed, adapter in machines()}.items():
        settings = {
            one.path: one.text
            for one in resolve(testbed, adapter=adapter).parameters
            if one.path.startswith(parts) and one.path != "adapter.send.latency"
        }
        assert len(settings) > 50
        with_settings(testbed, adapter, settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"adapter.bus": "mt23108"},
        {"adapter.bus": "pcix", "adapter.bus.clock": "100 MHz"},
        {"adapter.bus.kind": "pcix", "adapter.bus.clock": "66 MHz"},
        {
            "adapter.firmware_mode": "memfree",
            "adapter.limits.max_inline": "1K",
            "stack.max_inline": "100",
            "adapter.limits.atomics": "TRUE",
        },
    ],
)
def test_another_bus_may_be_a_setting(in_empty_folder: Path, settings: dict[str, str]) -> None:
    with_settings("liu2004", "mt25208", settings)


def test_a_testbed_whose_name_no_file_can_have_is_unknown(text: str) -> None:
    found = faults(text.replace('testbed = "liu2004"', f'testbed = "{"x" * 300}"'))
    assert any("made.testbed: " in fault for fault in found), found
