"""Kernels of the NAS Parallel Benchmarks as programs: the messages of the sources, and computing.

Every message of the sources up to the end of the timed part is sent, in their order and by the
same calls; what is computed between two of them takes time in proportion to its operations.

Source: NPB 3.3.1, NPB3.3-MPI, without input files and timers of phases.
"""

from typing import Final

from hcasim.apps.nas import cg, ft, is_, lu, mg
from hcasim.apps.nas.kernel import Kernel, Timed

KERNELS: Final[dict[str, Kernel]] = {one.KERNEL.name: one.KERNEL for one in (is_, ft, mg, lu, cg)}
"""By name."""

__all__ = ["KERNELS", "Kernel", "Timed"]
