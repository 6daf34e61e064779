"""Faults have fields in every process."""

import pickle

from hcasim.ground.errors import CatalogError, Fault
from hcasim.ground.units import TIME, UnitError


def test_a_fault_keeps_its_fields_in_another_process() -> None:
    fault = Fault("--set x", 3, "4 or 5", "; did you mean '4'?")
    missing = Fault("f.toml: id", None, "text", said="missing")
    assert (fault, missing) == (
        "--set x: found 3; allowed: 4 or 5; did you mean '4'?",
        "f.toml: id: missing; allowed: text",
    )
    for one in pickle.loads(pickle.dumps(CatalogError([fault, missing]))).faults:
        same = fault if one == fault else missing
        assert (one, vars(one), one.at("y")) == (same, vars(same), same.at("y"))
    try:
        TIME.parse("3 nz")
    except UnitError as error:
        copy = pickle.loads(pickle.dumps(error))
    assert copy.fault.at("t").startswith("t: found '3 nz' with the unit 'nz'; a time is allowed")
