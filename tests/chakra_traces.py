"""Small Chakra execution traces, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hcasim.apps.replay.chakra import messages

METADATA, LOAD, COMPUTE, SEND, RECV, COLLECTIVE = 1, 2, 4, 5, 6, 7
ALL_REDUCE, BROADCAST, BARRIER = 0, 5, 9


def node(
    id_: int, kind: int, data: Sequence[int] = (), ctrl: Sequence[int] = (), **attributes: Any
) -> Any:
    """A node; `micros` is its duration, `inputs` its text, and others are attributes."""
    one = messages()["Node"](id=id_, name=f"n{id_}", type=kind, data_deps=data, ctrl_deps=ctrl)
    one.duration_micros = attributes.pop("micros", 0)
    one.inputs.values = attributes.pop("inputs", "")
    for name, value in attributes.items():
        attribute = one.attr.add(name=name)
        if isinstance(value, bool):
            attribute.bool_val = value
        elif isinstance(value, str):
            attribute.string_val = value
        else:
            attribute.int64_val = value
    return one


def encode(nodes: Sequence[Any]) -> bytes:
    """The bytes of a file."""
    found = b""
    for one in (messages()["Metadata"](version="1.0.0"), *nodes):
        data = one.SerializeToString()
        length, size = b"", len(data)
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        found += length + bytes([size]) + data
    return found


def write_trace(folder: Path, *ranks: Sequence[Any]) -> Path:
    """Write the nodes of each process; return the first file."""
    for rank, nodes in enumerate(ranks):
        (folder / f"t.{rank}.et").write_bytes(encode(nodes))
    return folder / "t.0.et"
