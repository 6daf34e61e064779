"""Free values are those that no document gives; who determined them and who uses them is told."""

import pytest

from hcasim.papers.plan import plan_papers
from tests.docs.site.free import FreeValue, Place, free_values, places_of

DETERMINED = 99
"""Values that published measurements of one source alone determined."""
SERVING = 25
"""Those of them that the experiments of one source alone use."""


@pytest.fixture(scope="module")
def values() -> dict[Place, FreeValue]:
    return {one.place: one for one in free_values(plan_papers())}


def test_a_value_tells_who_determined_and_who_uses_it(values: dict[Place, FreeValue]) -> None:
    value = values["adapters", "mt23108", "send.latency"]
    assert value.determined_by == "liu2004"
    assert value.users == ("benjegerdes2004", "liu2004", "sur2005")
    assert value.serves == ""
    assert {"LIU-039", "BEN-003", "SUR-012"} <= {*value.claims}
    assert "LIU-041" not in value.claims


def test_what_a_document_gives_is_not_free(values: dict[Place, FreeValue]) -> None:
    assert {one.parameter.evidence for one in values.values()} == {"fitted", "chosen", "assumed"}
    assert ("adapters", "mt25208", "bus.lanes") not in values


def test_a_value_stands_where_its_file_says_it(values: dict[Place, FreeValue]) -> None:
    names = {part for kind, part, path in values if kind == "adapters" and path == "qpc.size"}
    assert all(one.parameter.inherited_from == "" for one in values.values())
    assert "connectx5" not in names


def test_the_base_of_a_value_is_none_that_its_own_source_determined(
    values: dict[Place, FreeValue],
) -> None:
    value = values["hosts", "broadwell-e5-2630v4", "memory.read_latency"]
    near = value.base()
    assert near is not None
    assert near.inherited_from == "haswell-e5-2620v3"
    far = value.base({("hosts", "haswell-e5-2620v3", "memory.read_latency")})
    assert far is not None
    assert far.inherited_from == "generic-modern"
    assert values["stacks", "rdma-core", "cycles.post_wr"].base() is None


def test_paths_of_a_machine_lead_to_the_files_that_say_its_values() -> None:
    (line,) = (
        line
        for one in plan_papers()
        if one.scenario.id == "liu2004/fig03"
        for line in one.lines
        if line.name == "pcie"
    )
    places = dict(places_of(line))
    assert places["adapter.send.latency"] == ("adapters", "mt25208", "send.latency")
    assert places["stack.post_send"][1] == "vapi"
    known = {one.path for one in line.jobs[0].machine.parameters}
    assert {path for path in places if path.startswith(("adapter.", "host."))} <= known


def test_no_more_values_rest_on_one_source(values: dict[Place, FreeValue]) -> None:
    determined = [one for one in values.values() if one.determined_by]
    serving = [one for one in determined if one.serves]
    assert (len(determined) <= DETERMINED, len(serving) <= SERVING) == (True, True)
