"""Calibration: what no public source gives, fitted to published numbers, with its uncertainty."""

from hcasim.calibrate.file import Calibration, read_calibration

__all__ = ["Calibration", "read_calibration"]
