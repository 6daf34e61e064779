"""Calibration: what no public source gives, fitted to published numbers, with its uncertainty."""

from hcasim.calibrate.calibration import Calibration
from hcasim.calibrate.calibration_file import read_calibration
from hcasim.calibrate.confidence import Confidence, confidence
from hcasim.calibrate.fit import calibrate
from hcasim.calibrate.fitted import FittedParameter, Residual
from hcasim.calibrate.identifiability import Tie, Verdict
from hcasim.calibrate.objective import Objective, Progress, Run, Trial, simulate
from hcasim.calibrate.observation import Observation, Setup, without_repeats
from hcasim.calibrate.parameters import FreeParameter, free_parameters
from hcasim.calibrate.report import FitReport

__all__ = [
    "Calibration",
    "Confidence",
    "FitReport",
    "FittedParameter",
    "FreeParameter",
    "Objective",
    "Observation",
    "Progress",
    "Residual",
    "Run",
    "Setup",
    "Tie",
    "Trial",
    "Verdict",
    "calibrate",
    "confidence",
    "free_parameters",
    "read_calibration",
    "simulate",
    "without_repeats",
]
