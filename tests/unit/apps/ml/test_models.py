"""Models have as many parameters as was published, and their buckets hold all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.apps.ml import MODELS
from hcasim.apps.ml.data_parallel import buckets
from hcasim.apps.ml.models import Layer, Transformer

PUBLISHED = {
    "resnet-50": (25_557_032, 25.6e6, 0.01),
    "bert-large": (335_141_888, 340e6, 0.02),
    # Only millions are told.
    "gpt-3-175b": (174_600_000_000, 175e9, 0.005),
    "llama-2-70b": (68_976_648_192, 70e9, 0.02),
    "llama-3-70b": (70_553_706_496, 70.6e9, 0.001),
    "mixtral-8x7b": (46_702_792_704, 46.7e9, 0.001),
}
"""Parameters of the files that hold them; what the authors say, and how much they round."""


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_as_many_as_were_published(name: str) -> None:
    found = MODELS[name].parameters
    counted, said, rounded = PUBLISHED[name]
    assert found == pytest.approx(counted, abs=5e7 if name == "gpt-3-175b" else 0)
    assert found == pytest.approx(said, rel=rounded)


@pytest.mark.parametrize("name", [one for one in MODELS if one != "resnet-50"])
def test_operations_follow_the_formula_of_megatron(name: str) -> None:
    """24 s h^2 (1 + s / 6h) for each block of 12 h^2 parameters (Narayanan et al. 2021)."""
    model = MODELS[name]
    assert isinstance(model, Transformer)
    tokens, hidden = model.sequence, model.hidden
    block = model.block
    used = block.parameters * 2 * tokens + 4 * tokens**2 * hidden
    if model.experts > 1:
        unused = model.experts - model.chosen
        used -= unused * model.one_expert_operations * tokens
    assert block.operations == pytest.approx(used, rel=1e-3)
    if block.parameters == pytest.approx(12 * hidden**2, rel=1e-2):
        formula = 24 * tokens * hidden**2 * (1 + tokens / (6 * hidden))
        assert block.operations == pytest.approx(formula, rel=1e-9)


def test_an_image_takes_resnet_as_many_operations_as_torchvision_says() -> None:
    """4.09 G multiplications and additions."""
    assert MODELS["resnet-50"].operations / 2 == pytest.approx(4.09e9, rel=1e-3)


def test_a_token_uses_as_many_parameters_of_mixtral_as_was_published() -> None:
    model = MODELS["mixtral-8x7b"]
    assert isinstance(model, Transformer)
    idle = (model.experts - model.chosen) * model.matrices * model.hidden * model.inner
    assert model.parameters - model.blocks * idle == pytest.approx(12.9e9, rel=0.005)


@pytest.mark.parametrize("name", MODELS)
def test_buckets_hold_each_gradient_once_and_the_last_ones_first(name: str) -> None:
    model = MODELS[name]
    found = buckets(model.layers, 4, 2**20, 25 * 2**20)
    assert sum(one.parameters for one in found) == model.parameters
    ready = [one.operations for one in found]
    assert ready == sorted(ready)
    assert ready[-1] == 2 * model.operations
    assert all(4 * one.parameters >= 25 * 2**20 for one in found[1:-1])


def test_resnet_has_the_buckets_of_pytorch() -> None:
    """The classifier of 2049000 parameters alone, then four of 25 MiB and the rest."""
    first, *others = buckets(MODELS["resnet-50"].layers, 4, 2**20, 25 * 2**20)
    assert first.parameters == 2049000
    assert len(others) == 4


@given(
    st.lists(st.lists(st.integers(1, 10**6), min_size=1, max_size=5), min_size=1, max_size=20),
    st.integers(1, 10**6),
    st.integers(1, 10**7),
)
def test_tensors_are_never_divided(sizes: list[list[int]], first: int, limit: int) -> None:
    layers = [Layer(tuple(one), 1) for one in sizes]
    found = buckets(layers, 4, first, limit)
    order = [tensor for layer in reversed(sizes) for tensor in reversed(layer)]
    for place, one in enumerate(found):
        taken = []
        while sum(taken) < one.parameters:
            taken.append(order.pop(0))
        assert sum(taken) == one.parameters
        full = limit if place else first
        assert 4 * sum(taken[:-1]) < full
        assert 4 * sum(taken) >= full or one is found[-1]
    assert not order
