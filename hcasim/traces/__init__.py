"""Traces: measurements of real adapters, and of simulated ones, in one form with their units."""

from hcasim.traces.files import Trace, read_trace, render
from hcasim.traces.schema import (
    UNITS,
    Clock,
    Device,
    End,
    Failure,
    Header,
    Host,
    Measured,
    Pci,
    Plan,
    Point,
    Port,
    Statistics,
    Tool,
)

__all__ = [
    "UNITS",
    "Clock",
    "Device",
    "End",
    "Failure",
    "Header",
    "Host",
    "Measured",
    "Pci",
    "Plan",
    "Point",
    "Port",
    "Statistics",
    "Tool",
    "Trace",
    "read_trace",
    "render",
]
