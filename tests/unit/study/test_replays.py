"""A figure is replayed as its authors ran it, or with a what-if."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.study import load_scenario, replay
from hcasim.study.replays import plan

pytestmark = pytest.mark.usefixtures("simulated")


def test_the_curves_bear_the_names_of_the_series() -> None:
    found = replay("liu2004/fig03", jobs=1)
    assert list(found.curves) == ["pcie", "pcix"]
    assert found["pcie"].label == "PCI-Express"
    assert found["pcix"].latency_us[0] == pytest.approx(5.004)
    assert found["pcie"].settings["adapter"] == "mt25208"


def test_series_and_sizes_may_be_chosen(simulated: Callable[[], list[Any]]) -> None:
    found = replay("liu2004/fig03", series=["pcie"], sizes="8,64", jobs=1)
    assert list(found.curves) == ["pcie"]
    assert found["pcie"].sizes.tolist() == [8, 64]
    assert len(simulated()) == 2


def test_a_what_if_changes_the_machine_of_the_chosen_series() -> None:
    (line,) = plan(
        load_scenario("liu2004/fig03"), series=["pcie"], overrides={"adapter.bus.lanes": "1"}
    ).lines
    assert line.jobs[0].machine.overrides == {"adapter.bus.lanes": "1"}


def test_a_what_if_that_does_not_suit_a_series_is_a_fault() -> None:
    with pytest.raises(CatalogError, match=r"adapter\.bus\.lanes"):
        replay("liu2004/fig03", overrides={"adapter.bus.lanes": "1"})


def test_all_faults_of_a_request_are_said_at_once() -> None:
    with pytest.raises(CatalogError) as caught:
        replay("liu2004/fig03", series=["pice"], sizes="0,x")
    assert len(caught.value.faults) == 3
    assert "did you mean 'pcie'?" in caught.value.faults[0]


def test_the_options_are_those_of_the_authors() -> None:
    lines = {line.name: line for line in plan(load_scenario("liu2004/fig10")).lines}
    options = lines["pcix_binding"].jobs[0].options
    assert (options.mode, options.ports, options.processes) == ("binding", 2, 2)
    assert (options.window, options.warmup, options.iters) == (64, 10, 100)


def test_a_replay_becomes_a_table_with_a_row_per_series_and_size() -> None:
    frame = replay("liu2004/fig05", jobs=1).to_pandas()
    assert len(frame) == 4
    assert set(frame["op"]) == {"fetch_add", "cmp_swap"}


def test_a_notebook_shows_the_figure_and_the_what_if() -> None:
    found = replay("liu2004/fig03", series=["pcie"], overrides={"adapter.bus.lanes": "1"}, jobs=1)
    assert "Figure 3" in found._repr_html_()
    assert "adapter.bus.lanes = 1" in found._repr_html_()
