"""Fits in files: read with every fault said, and taken on by a machine."""

from hcasim.calibrate.file.calibration import Calibration
from hcasim.calibrate.file.reading import read_calibration

__all__ = ["Calibration", "read_calibration"]
