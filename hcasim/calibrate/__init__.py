"""Calibration: what no public source gives, fitted to claims and to traces."""

from hcasim.calibrate.file import Calibration, read_calibration

__all__ = ["Calibration", "read_calibration"]
