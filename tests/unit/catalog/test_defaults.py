"""A leaf that a description leaves out has the default of its kind, and says so."""

from pathlib import Path

from hcasim.catalog import load, resolve
from hcasim.catalog.provenance import UNSAID


def test_what_an_adapter_does_not_say_is_one_unit_in_order() -> None:
    loaded = load("mt25208", "adapters")
    unsaid = {one.path: one.value for one in loaded.parameters if one.source == UNSAID}
    assert unsaid["order"] == "port"
    assert unsaid["send.units"] == unsaid["receive.units"] == unsaid["wqe.fetch"] == 1
    assert loaded.model.order == "port"


def test_a_default_can_be_set_and_a_file_that_is_based_on_another_can_say_it(
    tmp_path: Path,
) -> None:
    machine = resolve("liu2004", overrides={"adapter.send.units": "4"})
    assert machine.adapter.send.units == 4
    own = tmp_path / "own.toml"
    own.write_text(
        'id = "own"\nbased_on = "mt25208"\ntitle = "Own"\n'
        'order = { value = "queue_pair", evidence = "assumed", source = "a trial" }\n'
    )
    assert load(str(own), "adapters").model.order == "queue_pair"
