"""Which gradients are added up together, and when they are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hcasim.apps.ml.model import Layer


@dataclass(frozen=True, slots=True)
class Bucket:
    """Gradients that are added up by one call.

    Attributes:
        parameters: number of them.
        operations: of the backward pass up to the last of them, for one sample.
    """

    parameters: int
    operations: int


def buckets(layers: Sequence[Layer], element: int, first: int, limit: int) -> list[Bucket]:
    """Divide the gradients of a model, the last ones first.

    Tensors are not divided: one is added to a bucket until that has as many bytes as it may.
    The backward pass takes twice the operations of the forward one, and the gradients of a layer
    are there at its end.

    Parameters:
        element: bytes of a gradient.
        first: bytes of the first bucket, so that adding up begins early.
        limit: bytes of the others.

    Source: PyTorch, torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
    """
    found: list[Bucket] = []
    parameters = operations = 0
    for layer in reversed(layers):
        operations += 2 * layer.operations
        for tensor in reversed(layer.tensors):
            parameters += tensor
            if parameters * element >= (limit if found else first):
                found.append(Bucket(parameters, operations))
                parameters = 0
    if parameters:
        found.append(Bucket(parameters, operations))
    return found
