"""A study finds what a result rests on, of results whose law is known."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import jsonschema
import pytest

import hcasim as hc
import hcasim.workloads
from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.papers.loader import load_scenario
from hcasim.study.sensitivity.factor import VARIED, find_factors, settings_of
from hcasim.study.sensitivity.result import Effect, Sensitivity
from hcasim.study.sensitivity.subject import ScenarioSubject
from hcasim.workloads import Options, Result

Law = Callable[[Machine, Options], float]
SEND, READ, WRITE = "adapter.send.latency", "host.memory.read_latency", "host.memory.write_latency"
SUM = {"spread": 1.5, "only": [SEND, READ, WRITE], "size": 8, "jobs": 1}


@pytest.fixture
def law(monkeypatch: pytest.MonkeyPatch) -> Callable[[Law], None]:
    """Replace the simulation by a law."""
    monkeypatch.setenv("HCASIM_CACHE", "")

    def follow(one: Law) -> None:
        def run(name: str, machine: Machine, options: Options, listen: object = None) -> Result:
            fields = hcasim.workloads.WORKLOADS[name].fields
            return Result({"size": options.size, **dict.fromkeys(fields, one(machine, options))})

        monkeypatch.setattr(hcasim.workloads, "run_point", run)

    return follow


def total(machine: Machine, options: Options) -> float:
    """A sum whose parts count differently; the time of a write counts nothing."""
    return (machine.adapter.send.latency + 2 * machine.host.memory.read_latency) / 1e6


def named(found: Sensitivity, effects: Sequence[Effect] = ()) -> list[str]:
    """Names of the parameters of some effects, or of all."""
    return [found.factors[one.parameter].name for one in effects or found.effects]


def test_a_tornado_has_the_values_at_the_ends_and_the_elasticity(
    law: Callable[[Law], None],
) -> None:
    law(total)
    found = hc.sensitivity("write_lat", "liu2004", **SUM)
    assert named(found) == [READ, SEND, WRITE]
    read, send, write = found.effects
    assert (read.low, read.high) == pytest.approx((1.39, 2.14))
    assert found.outputs[0].base == pytest.approx(1.69)
    # Its fitted interval, and what is tied to it.
    assert (send.low, send.high) == pytest.approx((1.661, 1.719))
    assert read.elasticity == pytest.approx(0.9 / 1.69)
    assert send.elasticity == pytest.approx(0.79 / 1.69)
    assert write.swing == 0
    assert named(found, found.matter(found.outputs[0])) == [READ, SEND]
    (words,) = found.words()
    assert f"rests most on {READ} (1.39 to 2.14 us for 300 ns to 675 ns) and {SEND}" in words
    assert "the other 1 alone it stays at 1.69 us." in words


def test_sobol_shares_the_variance_of_a_sum_as_it_is(law: Callable[[Law], None]) -> None:
    law(total)
    found = hc.sensitivity("write_lat", "liu2004", method="sobol", samples=128, **SUM)
    # Of an even distribution the variance is a twelfth of the square of its width.
    parts = {READ: (2 * 0.375) ** 2, SEND: 0.058**2, WRITE: 0.0}
    assert named(found) == [*parts]
    for one in found.effects:
        share = parts[found.factors[one.parameter].name] / sum(parts.values())
        for name in ("first", "total"):
            assert one.indices is not None
            assert one.indices[name] == pytest.approx(share, abs=0.03)
            assert 0 <= one.indices[f"{name}_confidence"] < 0.3
    assert found.outputs[0].quantiles == pytest.approx((1.43, 1.765, 2.10), abs=0.02)
    assert found.samples == 128 * 5


def test_a_parameter_of_two_values_has_its_share_whatever_the_seed(
    law: Callable[[Law], None],
) -> None:
    completion = "host.root_port.completion"
    law(lambda machine, options: machine.host.root_port.completion / 64)
    for seed in range(8):
        found = hc.sensitivity(
            *("write_lat", "liu2004"),
            method="sobol",
            samples=16,
            sampling_seed=seed,
            **{**SUM, "only": [completion, SEND, READ]},
        )
        totals = {found.factors[one.parameter].name: one.indices["total"] for one in found.effects}
        assert totals[completion] > 0.5
        assert totals[SEND] == totals[READ] == 0


def test_what_does_not_matter_does_not_enter_unless_it_is_named(law: Callable[[Law], None]) -> None:
    law(total)
    found = hc.sensitivity("write_lat", "liu2004", method="sobol", samples=2, size=8, jobs=1)
    # Receiving follows sending in the fit.
    assert {*named(found, [one for one in found.effects if one.indices])} == {READ, SEND}


def test_draws_are_those_of_the_seed(law: Callable[[Law], None]) -> None:
    law(total)

    def drawn(seed: int) -> object:
        how = {"method": "sobol", "samples": 4, "sampling_seed": seed}
        return hc.sensitivity("write_lat", "liu2004", **how, **SUM).outputs

    assert drawn(3) == drawn(3) != drawn(4)


def fig09(ratio: Callable[[Machine], float]) -> Law:
    def bandwidth(machine: Machine, options: Options) -> float:
        return 1944.0 * (ratio(machine) if options.mode == "striping" else 1)

    return bandwidth


def test_the_end_at_which_a_claim_turns_is_found(law: Callable[[Law], None]) -> None:
    # Striping carries more as long as the memory has more than 5 GB/s.
    law(fig09(lambda machine: machine.host.memory.bandwidth / 5e9))
    found = hc.sensitivity(
        "liu2004/fig09", size="1M", only="host.memory.bandwidth", jobs=1, spread=1.5
    )
    order = next(one for one in found.effects if one.output == "LIU-071")
    factor = found.factors[order.parameter]
    assert order.turns == factor.low
    words = next(line for line in found.words() if line.startswith("LIU-071"))
    assert f"It holds unless host.memory.bandwidth falls to {factor.text(factor.low)}." in words


def test_a_claim_that_nothing_overturns_is_said_to_hold(law: Callable[[Law], None]) -> None:
    law(fig09(lambda machine: 1.4))
    found = hc.sensitivity("liu2004/fig09", size="1M", only="host.memory.*", jobs=1)
    words = next(line for line in found.words() if line.startswith("LIU-071"))
    assert words.endswith("It holds whatever single parameter is varied.")
    assert "rests on nothing that was varied (parameters: 3)" in words


def test_a_scenario_without_claims_is_refused() -> None:
    scenario = load_scenario("liu2004/fig09").model_copy(update={"claims": ()})
    with pytest.raises(CatalogError, match="liu2004/fig09: found no claim"):
        ScenarioSubject(scenario, x="64,1M")


def test_ranges_follow_from_the_evidence_and_what_has_none_stays() -> None:
    found = find_factors([resolve("liu2004")])
    factors = {one.name: one for one in found.factors.values()}
    send = factors[SEND]
    assert (send.origin, send.low, send.high) == ("interval", 761_000, 819_000)
    assert "adapters.mt25208.receive.latency" in send.also
    ends = {name: (one.low, one.base, one.high) for name, one in factors.items()}
    assert factors[READ].origin == "plausible"
    assert ends[READ] == (338_000, 450_000, 675_000)
    # Half of its draws are below its value.
    assert [factors[READ].at(share) for share in (0, 0.25, 0.5, 0.75, 1)] == [
        *(338_000, 394_000, 450_000, 562_500, 675_000)
    ]
    spread = find_factors([resolve("liu2004")], only=[READ], spread=1.5).factors.values()
    assert [(one.origin, one.low, one.high) for one in spread] == [("spread", 300_000, 675_000)]
    assert ends["adapter.sqpc.entries"] == (32, 64, 128)
    # A number of few allowed values.
    assert ends["host.root_port.completion"] == (64, 64, 128)
    # What is tied to another, published, or no number.
    others = {"adapter.receive.latency", "adapter.bus.lanes", "link.width", "adapter.sqpc.policy"}
    assert not factors.keys() & others
    assert "no number" in found.fixed["adapters.mt25208.sqpc.policy"]
    assert "0" in found.fixed["stacks.vapi.driver.reserved_srqs"]
    assert found.fixed["adapters.mt25208.send.units"].startswith("not said")


def test_a_range_comes_before_all_and_frees_what_is_published() -> None:
    ranges = {"adapter.bus.lanes": "4..16", READ: "400 ns..500 ns"}
    found = find_factors([resolve("liu2004")], ranges=ranges, only=[*ranges])
    ends = {one.name: (one.origin, one.low, one.high) for one in found.factors.values()}
    assert ends == {"adapter.bus.lanes": ("range", 4, 16), READ: ("range", 400_000, 500_000)}


def test_each_group_of_nodes_varies_and_what_they_have_alike_in_all_of_them() -> None:
    machine = resolve("fat-tree-64")
    assert [group.name for group in machine.groups] == ["compute", "storage"]
    only = ["*doorbell.latency", "*link.*", "mtu", "trunk.*"]
    factors = find_factors([machine], only=only, spread=2).factors

    def set_by(path: str) -> dict[str, str]:
        return settings_of(machine, {path: factors[path].low}, factors)

    cable = "testbeds.fat-tree-64.link.cable_length"
    assert set_by(cable).keys() == {"compute.link.cable_length", "storage.link.cable_length"}
    assert set_by("adapters.mt23108.doorbell.latency") == {
        "storage.adapter.doorbell.latency": "50 ns"
    }
    assert set_by("testbeds.fat-tree-64.mtu").keys() == {"mtu"}
    assert set_by("testbeds.fat-tree-64.trunk.width").keys() == {"trunk.width"}


@pytest.mark.parametrize(
    "testbed", ["liu2004", "fat-tree-64", "fat-tree-1024", "cloud-hdr", "nvmf"]
)
def test_nothing_that_nobody_has_published_is_left_out_without_a_word(testbed: str) -> None:
    machine = resolve(testbed)
    found = find_factors([machine])
    settings = settings_of(
        machine, {path: one.low for path, one in found.factors.items()}, found.factors
    )
    fixed = {path.split(".", 2)[-1] for path in found.fixed}
    left = [
        one.path
        for one in machine.parameters
        if one.evidence in VARIED
        and one.path not in settings
        and not any(one.path.endswith(end) for end in fixed)
    ]
    assert left == []


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"ranges": {"adapter.bus.lanez": "1..2"}}, "did you mean 'adapter.bus.lanes'?"),
        ({"ranges": {"adapter.sqpc.policy": "a..b"}}, "adapter.sqpc.policy: is no number"),
        ({"ranges": {READ: "1..2"}}, "a time is allowed with the unit"),
        ({"ranges": {READ: "1 ns..2 ns"}}, "allowed: two ends around its value, 450 ns"),
        ({"ranges": {READ: "2 us..1 us"}}, "allowed: two ends around its value, 450 ns"),
        ({"only": "host.memori.*"}, "only: found 'host.memori.*', which no parameter matches"),
        ({"only": "adapter.bus.lanes"}, "nothing is left to vary"),
        ({"spread": 1}, "spread: found 1; allowed: a number above 1"),
        ({"spread": float("nan")}, "spread: found nan; allowed: a number above 1"),
        ({"method": "sobel"}, "did you mean 'sobol'?"),
        ({"samples": 8}, "samples: found with the method tornado"),
        ({"method": "sobol", "samples": 0}, "samples: found 0"),
        (
            {"method": "sobol", "samples": 10**8, "only": READ},
            "samples: found 100000000; allowed: 1 to 33333, as each needs 3 machines",
        ),
        ({"quantity": "rate_Mps"}, "quantity: found 'rate_Mps'; allowed: latency_us"),
    ],
)
def test_what_cannot_be_studied_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(CatalogError) as caught:
        hc.sensitivity("write_lat", "liu2004", size=8, **given)
    (line,) = caught.value.faults
    assert fault in line


@pytest.mark.parametrize(
    ("words", "given", "faults"),
    [
        (("write_lat",), {}, ["testbed: missing"]),
        (("write_late", "liu2004"), {}, ["did you mean 'write_lat'?"]),
        (("liu2004/fig09",), {"qps": 2, "quantity": "x"}, ["qps: found with", "quantity: found"]),
        (("liu2004/fig99",), {}, ["fig99"]),
    ],
)
def test_what_is_asked_about_is_there(
    words: tuple[str, ...], given: dict[str, Any], faults: list[str]
) -> None:
    with pytest.raises(CatalogError) as caught:
        hc.sensitivity(*words, **given)
    assert len(caught.value.faults) == len(faults)
    assert all(part in line for part, line in zip(faults, caught.value.faults, strict=True))


def test_a_machine_that_cannot_have_an_end_is_not_given_it(law: Callable[[Law], None]) -> None:
    law(total)
    # A set of a cache with 64 entries has no 512.
    given = {"size": 8, "only": "adapter.sqpc.ways", "spread": 100.0, "jobs": 1}
    (ways,) = hc.sensitivity("write_lat", "liu2004", **given).factors.values()
    assert (ways.low, ways.base, ways.high) == (1, 4, 4)


def test_the_result_has_its_schema_a_table_and_a_chart(law: Callable[[Law], None]) -> None:
    law(total)
    for method in ("tornado", "sobol"):
        more = {} if method == "tornado" else {"samples": 2}
        found: Sensitivity = hc.sensitivity("write_lat", "liu2004", method=method, **more, **SUM)
        document = json.loads(json.dumps(found.to_dict()))
        jsonschema.validate(document, hc.schema("sensitivity"))
        table = found.to_pandas()
        assert list(table["parameter"]) == [READ, SEND, WRITE]
        assert table["swing"].iloc[0] == pytest.approx(0.75)
        figure = found.plot()
        labels = [one.get_text() for one in figure.axes[0].get_yticklabels()]
        assert labels == [SEND, READ]
        assert READ in found._repr_html_()
        meanings = {one["name"]: one["meaning"] for one in document["parameters"]}
        assert meanings[SEND] == "delay of a packet through the pipeline"
        assert all(one in found._repr_html_() for name, one in meanings.items() if name != WRITE)


def test_a_claim_of_which_no_size_is_left_is_refused() -> None:
    with pytest.raises(CatalogError, match="size: SUR-021: the two series share no size of those"):
        hc.sensitivity("sur2005/fig3b", size="2K", only="host.memory.read_latency", jobs=1)
