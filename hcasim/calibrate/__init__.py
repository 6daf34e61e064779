"""Calibration: what no public source gives, fitted to claims and to traces."""

from hcasim.calibrate.file.calibration import Calibration
from hcasim.calibrate.file.reading import read_calibration

__all__ = ["Calibration", "read_calibration"]
