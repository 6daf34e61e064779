"""Communication of machine learning as programs, with the sizes of published models.

Accelerators compute; the processor deals with messages meanwhile. Their memory is not described:
messages are in that of the host.
"""

from typing import Final

from hcasim.apps.ml import data_parallel, experts, pipeline
from hcasim.apps.ml.models import MODELS
from hcasim.apps.ml.program import Learning

LEARNING: Final[dict[str, Learning]] = {
    one.name: one
    for one in (data_parallel.ALLREDUCE, data_parallel.PROGRAM, experts.PROGRAM, pipeline.PROGRAM)
}
"""By name."""

__all__ = ["LEARNING", "MODELS", "Learning"]
