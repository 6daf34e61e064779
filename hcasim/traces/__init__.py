"""Traces: measurements of real adapters, and of simulated ones, in one form with their units."""

from hcasim.traces.importing import FORMATS, import_trace, merge, read_measured
from hcasim.traces.schema import (
    TRANSPORTS,
    UNITS,
    Device,
    Header,
    Measured,
    Pci,
    Point,
    Port,
    Statistics,
    Tool,
)
from hcasim.traces.source import Source
from hcasim.traces.tool_output import LOOPBACK, Hints
from hcasim.traces.trace_file import Trace, parse_trace, read_trace, render

__all__ = [
    "FORMATS",
    "LOOPBACK",
    "TRANSPORTS",
    "UNITS",
    "Device",
    "Header",
    "Hints",
    "Measured",
    "Pci",
    "Point",
    "Port",
    "Source",
    "Statistics",
    "Tool",
    "Trace",
    "import_trace",
    "merge",
    "parse_trace",
    "read_measured",
    "read_trace",
    "render",
]
