"""What the description of an MPI library refuses."""

import pytest

from hcasim.catalog import CatalogError, resolve


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("ring.credit_return", "33", "found 33; allowed: 0 to 32, as many as slots"),
        ("queue.credit_return", "80", "found 80; allowed: 0 to 79, below receives"),
        ("eager.limit", "8K", "found room for 6140 B; allowed: from 8240 B"),
        ("collectives.bcast", "binomal", "did you mean 'binomial'"),
        ("rails.small", "any", "allowed: first or round_robin"),
    ],
)
def test_what_contradicts_itself_is_told(path: str, value: str, said: str) -> None:
    with pytest.raises(CatalogError) as caught:
        resolve("liu2004", stack="mvapich-0.9.5", overrides={f"stack.mpi.{path}": value})
    assert said in str(caught.value)
