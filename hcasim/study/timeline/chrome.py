"""The trace format of Chrome, which Perfetto opens.

Times are microseconds, written as whole nanoseconds, cut off at both ends of a slice, because
Perfetto's trace processor rounds begin and duration to nanoseconds each by itself: slices that
follow each other to the picosecond would overlap, and it drops what overlaps. The arguments
``start_ps`` and ``dur_ps`` have the exact times.

Source: Trace Event Format (Google, 2016); perfetto, src/trace_processor/importers/json.
"""

from __future__ import annotations

from collections.abc import Callable
from json import dumps
from json.encoder import encode_basestring_ascii as quoted


class ChromeFile:
    """Writes records of a trace one after the other: `add` takes one, `flush` writes them, and the
    file is whole when `finish` has been called."""

    def __init__(self, write: Callable[[bytes], object], run: str) -> None:
        self._write = write
        self._lines: list[str] = []
        self.add = self._lines.append
        self._written = 0
        about = {"run": run, "exact": "args.start_ps and args.dur_ps; ts and dur are cut off to ns"}
        write(f'{{"displayTimeUnit":"ns","otherData":{dumps(about)},"traceEvents":[\n'.encode())
        write(b'{"ph":"M","pid":0,"name":"process_name","args":{"name":"run"}}')

    @property
    def records(self) -> int:
        """Records so far."""
        return self._written + len(self._lines)

    def flush(self) -> None:
        """Write what has been added."""
        if self._lines:
            self._written += len(self._lines)
            self._write((",\n" + ",\n".join(self._lines)).encode())
            self._lines.clear()

    def process(self, process: int, name: str) -> None:
        """Name a part of the machine; parts are shown in the order of their numbers."""
        self._named("process", f'"pid":{process}', name, process)

    def thread(self, process: int, thread: int, name: str) -> str:
        """Name a track; return what its slices begin with."""
        head = f'"pid":{process},"tid":{thread}'
        self._named("thread", head, name, thread)
        return f'{{"ph":"X",{head},"name":"'

    def _named(self, kind: str, head: str, name: str, order: int) -> None:
        for key, told in (("name", quoted(name)), ("sort_index", f"{order}")):
            self.add(f'{{"ph":"M",{head},"name":"{kind}_{key}","args":{{"{key}":{told}}}}}')

    def counter(self, process: int, name: str, unit: str) -> str:
        """What the records of a counter begin with, up to its value."""
        return f'{{"ph":"C","pid":{process},"name":{quoted(name)},"args":{{{quoted(unit)}:'

    def slice(self, head: str, name: str, start_ps: int, end_ps: int, operation: int) -> None:
        """Add a slice, which belongs to an operation, to a track with a head."""
        start = start_ps // 1000
        self.add(
            f'{head}{name}","ts":{start}e-3,"dur":{end_ps // 1000 - start}e-3,"args":'
            f'{{"start_ps":{start_ps},"dur_ps":{end_ps - start_ps},"operation":{operation}}}}}'
        )

    def instant(self, name: str, time_ps: int) -> None:
        """Mark a moment of the whole run."""
        self.add(
            f'{{"ph":"i","s":"g","pid":0,"tid":0,"ts":{time_ps // 1000}e-3,'
            f'"name":{quoted(name)},"args":{{"start_ps":{time_ps}}}}}'
        )

    def finish(self) -> None:
        """Write what is left, and the end."""
        self.flush()
        self._write(b"\n]}\n")
