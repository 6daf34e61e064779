"""Outputs of versions and modes of which there is no sample: their layouts, invented figures."""

from tests.unit.traces.outputs import imb, netpipe, osu, perftest, probe

TEXTS = {
    f"{module.__name__.rpartition('.')[2]} {name}": text
    for module in (imb, netpipe, osu, perftest, probe)
    for name, text in vars(module).items()
    if isinstance(text, str) and name.isupper() and not name.endswith("RULE")
}
"""All of them by name."""
