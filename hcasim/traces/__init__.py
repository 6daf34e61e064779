"""Traces: measurements of real adapters, and of simulated ones, in one form with their units."""

from hcasim.traces.document import Trace, parse_trace, read_trace, render
from hcasim.traces.header import TRANSPORTS, Clock, Device, Header, Host, Pci, Plan, Port, Tool
from hcasim.traces.importing import FORMATS, import_trace, merge, sniff
from hcasim.traces.printed import Hints
from hcasim.traces.schema import UNITS, End, Failure, Measured, Point, Statistics
from hcasim.traces.source import Source

__all__ = [
    "FORMATS",
    "TRANSPORTS",
    "UNITS",
    "Clock",
    "Device",
    "End",
    "Failure",
    "Header",
    "Hints",
    "Host",
    "Measured",
    "Pci",
    "Plan",
    "Point",
    "Port",
    "Source",
    "Statistics",
    "Tool",
    "Trace",
    "import_trace",
    "merge",
    "parse_trace",
    "read_trace",
    "render",
    "sniff",
]
