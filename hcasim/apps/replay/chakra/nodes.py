"""What Chakra execution traces are written in: messages of protobuf, each behind its length.

Source: MLCommons Chakra 1.0, schema/protobuf/et_def.proto, of which the fields that are needed are
described here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

_STRING, _DOUBLE, _FLOAT, _BOOL = 9, 1, 2, 8
_INT32, _INT64, _UINT32, _UINT64, _SINT32, _SINT64 = 5, 3, 13, 4, 17, 18
_FIXED32, _FIXED64, _SFIXED32, _SFIXED64 = 7, 6, 15, 16
_MESSAGE: Final = 11
_OPTIONAL, _REPEATED = 1, 3
_PACKAGE: Final = "hcasim_chakra"
_VALUES: Final = {
    "double_val": (3, _DOUBLE),
    "float_val": (5, _FLOAT),
    "int32_val": (7, _INT32),
    "int64_val": (9, _INT64),
    "uint32_val": (11, _UINT32),
    "uint64_val": (13, _UINT64),
    "sint32_val": (15, _SINT32),
    "sint64_val": (17, _SINT64),
    "fixed32_val": (19, _FIXED32),
    "fixed64_val": (21, _FIXED64),
    "sfixed32_val": (23, _SFIXED32),
    "sfixed64_val": (25, _SFIXED64),
    "bool_val": (27, _BOOL),
    "string_val": (29, _STRING),
}
"""Kinds of a value, of which an attribute has one: number and type of the field."""
_FIELDS: Final[dict[str, dict[str, tuple[int, int, int, str]]]] = {
    "BoolList": {"values": (1, _BOOL, _REPEATED, "")},
    "Attribute": {
        "name": (1, _STRING, _OPTIONAL, ""),
        **{name: (*of, _OPTIONAL, "") for name, of in _VALUES.items()},
        "bool_list": (28, _MESSAGE, _OPTIONAL, "BoolList"),
    },
    "Metadata": {
        "version": (1, _STRING, _OPTIONAL, ""),
        "attr": (2, _MESSAGE, _REPEATED, "Attribute"),
    },
    "Values": {"values": (1, _STRING, _OPTIONAL, "")},
    "Node": {
        "id": (1, _UINT64, _OPTIONAL, ""),
        "name": (2, _STRING, _OPTIONAL, ""),
        "type": (3, _INT32, _OPTIONAL, ""),
        "ctrl_deps": (4, _UINT64, _REPEATED, ""),
        "data_deps": (5, _UINT64, _REPEATED, ""),
        "duration_micros": (7, _UINT64, _OPTIONAL, ""),
        "inputs": (8, _MESSAGE, _OPTIONAL, "Values"),
        "attr": (10, _MESSAGE, _REPEATED, "Attribute"),
    },
}
LONGEST: Final = 1 << 24
"""Bytes of a message."""


@cache
def messages() -> dict[str, Any]:
    """The classes of the messages, by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="hcasim_chakra.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        if name == "Attribute":
            message.oneof_decl.add(name="value")
        for field, (number, kind, label, of) in fields.items():
            one = message.field.add(name=field, number=number, type=kind, label=label)
            if of:
                one.type_name = f".{_PACKAGE}.{of}"
            if name == "Attribute" and field != "name":
                one.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    find = pool.FindMessageTypeByName
    return {one: message_factory.GetMessageClass(find(f"{_PACKAGE}.{one}")) for one in _FIELDS}


def split(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of a file, each with the byte at which it begins.

    Raises:
        ValueError: in the middle of a message, the file ends.
    """
    at = 0
    while at < len(data):
        start = at
        length, at = _length(data, at)
        if length > LONGEST:
            raise ValueError(f"found a message of {length} B at byte {start}; allowed: {LONGEST} B")
        if at + length > len(data):
            left = len(data) - at
            raise ValueError(f"found {left} B of {length} B at byte {start}; the file may be cut")
        yield start, data[at : at + length]
        at += length


def _length(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits in each byte, and where it ends."""
    found = 0
    for place, byte in enumerate(data[at : at + 5]):
        found |= (byte & 127) << 7 * place
        if byte < 128:
            return found, at + place + 1
    raise ValueError(f"found no length of a message at byte {at}; the file may be damaged")


def value(attribute: Any) -> Any:
    """What an attribute holds, if it is one value."""
    kind = attribute.WhichOneof("value")
    return getattr(attribute, kind) if kind in _VALUES else None


def looks_so(data: bytes) -> bool:
    """Whether a file begins as a trace does: a message with a text or an attribute."""
    try:
        length, at = _length(data, 0)
    except ValueError:
        return False
    if not length:
        return len(data) > 2 and data[0] == 0 and data[2] in (8, 18)
    return (
        length <= len(data) - at
        and length >= 2
        and data[at] in (10, 18)
        and data[at + 1] <= length - 2
    )
