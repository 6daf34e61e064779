"""What a process finds around it, and what of that a command lets in."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterator

from hcasim.cli.output import note

_STREAMS = ("stdin", "stdout", "stderr")
_FIXED = {
    # Jupyter and desktops name one that needs them.
    "MPLBACKEND": "agg",
}
_USUAL = {
    # Workers are as many as processors, and the matrices of a fit are small. Each thread would take
    # its share of the address space, and with too little of it wait for ever.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


def prepare_process() -> None:
    """Give a process streams that take any text, and libraries one thread and no display.

    What is printed to a stream that was closed goes nowhere, and not into a file that is opened
    later under its number.
    """
    for number, name in enumerate(_STREAMS):
        stream = getattr(sys, name)
        if stream is None:
            # The standard streams come first, in this order, and so get their numbers back.
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            # Names of files may hold bytes that are no text; terminals may not know all letters.
            stream.reconfigure(errors="backslashreplace")
    os.environ |= _FIXED
    for name, value in _USUAL.items():
        os.environ.setdefault(name, value)


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print what libraries warn of as notes: a line each, in which nothing steers a terminal."""
    import logging

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(f"Warning: {record.getMessage()}")

    handler = Notes(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: note(f"Warning: {message}")
            yield
    finally:
        logging.getLogger().removeHandler(handler)
