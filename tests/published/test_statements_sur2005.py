"""The statements of sur2005 are read and replayed as the paper means them.

The paper's MB is 2^20 bytes wherever a claim has it, as Table 1 shows; `sur2005.csv` is a second
reading of the paper, with its units written out.
"""

from hcasim.catalog import resolve
from hcasim.papers.claim import TOLERANCES
from hcasim.papers.loader import load_context, load_scenario, load_scenarios
from tests.published.test_statements import second_reading

SCENARIOS = load_scenarios(["sur2005"])
CLAIMS = {claim.id: claim for scenario in SCENARIOS for claim in scenario.claims}
CONTEXT = {context.id: context for context in load_context("sur2005")}
TABLE_1 = [f"SUR-{number:03d}" for number in range(22, 32)]


def test_table_1_is_read_row_by_row_in_binary_megabytes() -> None:
    read = {}
    for identifier in TABLE_1:
        claim = CLAIMS[identifier]
        (measure,) = claim.measure
        read[measure.at, measure.series[0]] = claim.published
        assert (claim.unit, claim.tolerance, claim.kind) == ("MiB/s", 0.01, "value")
    reuse = load_scenario("sur2005/table1").options.reuse
    assert reuse is not None
    printed = [second_reading("sur2005")[identifier]["value"] for identifier in TABLE_1]
    places = [(at, mode) for at in reuse for mode in ("memfree", "mem")]
    assert read == dict(zip(places, map(float, printed), strict=True))


def test_the_paper_contradicts_itself_where_the_claims_say_so() -> None:
    contradicted = {claim.id: claim for claim in CLAIMS.values() if claim.contradiction}
    assert set(contradicted) == {"SUR-002", "SUR-020", "SUR-021"}
    for claim in contradicted.values():
        assert "4 KB" in claim.contradiction
        assert "8 KB" in claim.contradiction
        # What both say is judged; 8 KB itself is left open.
        assert all(measure.below == 8192 or measure.above == 8192 for measure in claim.measure)


def test_claims_are_judged_more_closely_where_they_say_more() -> None:
    closer = {claim.id: claim.tolerance for claim in CLAIMS.values() if claim.tolerance is not None}
    assert closer == dict.fromkeys(TABLE_1, 0.01) | {
        "SUR-018": 0.03,
        "SUR-021": 0.01,
        "SUR-032-cause": 0.01,
        "SUR-040": 0.005,
    }
    assert all(closer[name] < CLAIMS[name].usual_tolerance for name in closer)
    assert CLAIMS["SUR-036"].allowed_error == TOLERANCES["memory"]


def test_the_measurements_run_as_the_authors_ran_them() -> None:
    first = load_scenario("sur2005/fig3a").series
    assert {one.qps for one in first.values()} == set(published("SUR-017"))
    assert load_scenario("sur2005/fig3b").options.qps == (128,)
    table = load_scenario("sur2005/table1").options
    assert (table.sizes, table.qps, table.axis.name) == ((65536,), (1,), "reuse")
    modes = {
        scenario.figure: {one.firmware_mode for one in scenario.series.values()}
        for scenario in SCENARIOS
    }
    both = {"mem", "memfree"}
    assert all(modes[name] == both for name in ("3(a)", "3(b)", "3(c)", "Table 1"))


def published(identifier: str) -> tuple[float, ...]:
    found = CONTEXT[identifier].published
    assert not isinstance(found, str)
    return found if isinstance(found, tuple) else (found,)


def test_the_testbed_is_the_one_described() -> None:
    machine = resolve("sur2005")
    assert (machine.nodes,) == published("SUR-015")
    assert machine.host.cpus == 2
    assert machine.adapter.id == "mt25218"
    assert (machine.adapter.local_memory_size / 2**20,) == published("SUR-007")
    assert resolve("sur2005", firmware_mode="memfree").adapter.local_memory_size == 0
