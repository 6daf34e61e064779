"""Reads Chakra execution traces: the nodes of a graph for each process, in a file NAME.RANK.et.

A node begins when all have ended that it depends on, by data or control. Computing takes the
duration of its node, or its operations (`num_ops`) at a rate if it has none; nodes of processors
(`is_cpu_op`) and of accelerators compute at the same time. Messages and collectives are calls of
MPI; a process makes its collectives in the order of its file, and does nothing else meanwhile.
Nodes of memory and of metadata take no time. Process groups are those that nodes of metadata have
listed before, and "" and "0" are all processes, if no such node says otherwise.

`comm_size` is what a process has before: the part of each in all-gather, all parts in
reduce-scatter and all-to-all. The first of a group is the root.

A file is messages of protobuf, each behind its length.

Sources: MLCommons Chakra 1.0, schema/protobuf/et_def.proto, of which the fields that are needed are
described here; ASTRA-sim, for sizes astra-sim/system/astraccl/native_collectives/
collective_algorithm/Ring.cc, and astra-sim/workload/Workload.cc.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Final

from hcasim.apps.replay.collectives import CALLS, Collective, Collectives
from hcasim.apps.replay.operations import Kind, Operations
from hcasim.apps.replay.text import (
    LARGEST,
    MOST_ACTIONS,
    MOST_BYTES,
    MOST_RANKS,
    checked,
    missing_of,
    need,
    read_bytes,
    refuse,
)
from hcasim.apps.replay.trace import Trace
from hcasim.ground.errors import nearest
from hcasim.ground.faults import shown
from hcasim.mpi.messages import MAX_SECONDS

_NAME: Final = re.compile(r"(.+)\.([0-9]{1,7})\.et")
_LENGTH: Final = re.compile(rb"[\x80-\xff]{0,4}[\x00-\x7f]")
_KINDS: Final = ("invalid", "metadata", "memory", "memory", "compute", "send", "recv", "collective")
_COLLECTIVES: Final = (
    *("allreduce", "reduce", "allgather", "gather", "scatter", "bcast", "alltoall"),
    *("reduce_scatter", "reduce_scatter", "barrier"),
)
_EVERYONE: Final = ("", "0")
_MOST_OPERATIONS: Final = 2**62
_MOST_TAG: Final = 2**31
_LONGEST: Final = 1 << 24
"""Bytes of a message of protobuf."""
_PS: Final = 10**6
"""Of a microsecond."""

_VALUES: Final = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string"),
)
"""Types of a value, of which an attribute has one."""
_FIELDS: Final = {
    "BoolList": ("repeated bool values 1",),
    "Attribute": (
        "string name 1",
        *(f"{kind} {kind}_val {3 + 2 * number}" for number, kind in enumerate(_VALUES)),
        "BoolList bool_list 28",
    ),
    "Metadata": ("string version 1", "repeated Attribute attr 2"),
    "Values": ("string values 1",),
    "Node": (
        *("uint64 id 1", "string name 2", "int32 type 3", "repeated uint64 ctrl_deps 4"),
        *("repeated uint64 data_deps 5", "uint64 duration_micros 7", "Values inputs 8"),
        "repeated Attribute attr 10",
    ),
}
"""By message: type, name and number of the fields."""


@cache
def messages() -> dict[str, Any]:
    """The classes of the messages of protobuf, by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    package, types = "hcasim_chakra", descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto3"
    )
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        if name == "Attribute":
            message.oneof_decl.add(name="value")
        for line in fields:
            *repeated, kind, field, number = line.split()
            one = message.field.add(name=field, number=int(number))
            one.label = types.LABEL_REPEATED if repeated else types.LABEL_OPTIONAL
            if kind in _FIELDS:
                one.type, one.type_name = types.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                one.type = types.Type.Value(f"TYPE_{kind.upper()}")
            if name == "Attribute" and field != "name":
                one.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    find = pool.FindMessageTypeByName
    return {one: message_factory.GetMessageClass(find(f"{package}.{one}")) for one in _FIELDS}


def is_chakra(path: Path, data: bytes) -> bool:
    """Whether a file has the name of a trace."""
    return _NAME.fullmatch(path.name) is not None


def _split(data: bytes) -> Iterator[bytes]:
    """The messages of a file, each behind its length: seven bits of it in each byte."""
    at = 0
    while at < len(data):
        found = _LENGTH.match(data, at)
        if found is None:
            raise ValueError(f"found no length of a message at byte {at}; the file may be damaged")
        length = sum((byte & 127) << 7 * place for place, byte in enumerate(found[0]))
        at = found.end()
        if length > min(_LONGEST, len(data) - at):
            told = f"found a message of {length} B, and {len(data) - at} B behind its length"
            raise ValueError(f"{told}; allowed: up to {_LONGEST} B; the file may be cut")
        yield data[at : at + length]
        at += length


def read_chakra(path: Path, name: str, data: bytes) -> Trace:
    """Read the files of all processes, or raise a CatalogError with the first wrong node."""
    need(name, "google.protobuf", "chakra")
    files = [read_bytes(file) for file in _files(path, name)]
    reader = _Reader(len(files))
    for rank, (one, content) in enumerate(files):
        reader.read(rank, one, content)
    places = [f"{one}: node " for one, _ in files]
    return Trace(name, "chakra", reader.ranks, places, reader.collectives)


def _files(path: Path, name: str) -> list[Path]:
    found = _NAME.fullmatch(path.name)
    if found is None:
        allowed = "allowed: NAME.0.et, NAME.1.et and so on, one for each process"
        refuse(name, f"found {shown(path.name)}; {allowed}")
    files: dict[int, Path] = {}
    for one in path.parent.iterdir():
        other = _NAME.fullmatch(one.name)
        if other is not None and other[1] == found[1]:
            if int(other[2]) in files:
                refuse(name, f"found rank {int(other[2])} in two files")
            files[int(other[2])] = one
    count = max(files, default=0) + 1
    if count > MOST_RANKS:
        refuse(name, f"found rank {count - 1}; allowed: 0 to {MOST_RANKS - 1}")
    if len(files) < count:
        which = missing_of(files, count)
        refuse(name, f"found {len(files)} files of {count}; missing: those of rank {which}")
    if (size := sum(one.stat().st_size for one in files.values())) > LARGEST:
        refuse(name, f"found {size} B in its files; allowed: {LARGEST} B")
    return [files[rank] for rank in range(count)]


def _parts(one: Collective) -> Sequence[int]:
    """The part of each process, from what each has before."""
    size, most = len(one.sent), max(one.sent)
    divided = one.call in ("alltoall", "reduce_scatter", "scatter")
    return [-(-most // size) if divided else most] * size


class _Reader:
    """Reads the files of a trace: the operations of each process, and their collectives."""

    def __init__(self, count: int) -> None:
        self.ranks = [Operations() for _ in range(count)]
        self.collectives = Collectives(self.ranks, _parts)
        self._groups: dict[str, tuple[int, ...]] = {}
        self._numbers: dict[str, int] = {}
        self._actions = self._rank = 0

    def read(self, rank: int, name: str, data: bytes) -> None:
        from google.protobuf.message import DecodeError

        self._rank, self._here = rank, self.ranks[rank]
        self._last: int | None = None
        kinds, places, where = messages(), dict[int, int](), name
        later, earlier = array("Q"), array("Q")
        try:
            for number, found in enumerate(_split(data)):
                where = f"{name}: message {number}"
                node = kinds["Node" if number else "Metadata"]()
                node.ParseFromString(found)
                if not number:
                    continue
                where = f"{name}: node {node.id}"
                needed = {*node.data_deps, *node.ctrl_deps}
                self._actions += 1 + len(needed)
                checked(self._actions, "nodes and dependencies", MOST_ACTIONS)
                if node.id in places:
                    raise ValueError("found again; allowed: an id for each node")
                places[node.id] = one = self._operation(node)
                later.extend([one] * len(needed))
                earlier.extend(needed)
            for one, needs in zip(later, earlier, strict=True):
                if needs not in places:
                    where = f"{name}: node {self._here.lines[one]}"
                    raise ValueError(f"depends on node {needs}, which is not in its file")
                self._here.require(one, places[needs])
        except DecodeError:
            refuse(where, "found no node of a trace")
        except ValueError as error:
            refuse(where, str(error))

    # Nodes.

    def _operation(self, node: Any) -> int:
        attributes = {one.name: _value(one) for one in node.attr}
        kind = _KINDS[checked(node.type, "type", len(_KINDS) - 1)]
        if kind == "compute":
            return self._compute(node, attributes)
        if kind in ("send", "recv"):
            return self._message(node, kind, attributes)
        if kind == "collective":
            return self._collect(node, attributes)
        if kind == "metadata" and node.inputs.values:
            self._learn_groups(node.inputs.values)
        return self._here.add(Kind.CALC, 0, line=node.id)

    def _compute(self, node: Any, attributes: dict[str, Any]) -> int:
        # An accelerator is another thread than the processor.
        thread, most = 0 if attributes.get("is_cpu_op") else 1, MAX_SECONDS * 10**6
        micros = _number(attributes, "runtime", most, node.duration_micros)
        checked(micros, "duration_micros", most)
        amount = None
        if not micros and "num_ops" in attributes:
            amount = _number(attributes, "num_ops", _MOST_OPERATIONS)
        return self._here.add(Kind.CALC, micros * _PS, thread=thread, line=node.id, amount=amount)

    def _message(self, node: Any, kind: str, attributes: dict[str, Any]) -> int:
        own, other = ("comm_src", "comm_dst") if kind == "send" else ("comm_dst", "comm_src")
        most = len(self.ranks) - 1
        rank = _number(attributes, own, most, self._rank)
        if rank != self._rank:
            raise ValueError(f"{own}: found {rank}; allowed: {self._rank}, whose file this is")
        peer = _number(attributes, other, most)
        size = _number(attributes, "comm_size", MOST_BYTES)
        tag = _number(attributes, "comm_tag", _MOST_TAG, 0)
        return self._here.add(
            Kind.SEND if kind == "send" else Kind.RECV, size, peer, tag, line=node.id
        )

    def _collect(self, node: Any, attributes: dict[str, Any]) -> int:
        call = _COLLECTIVES[_number(attributes, "comm_type", len(_COLLECTIVES) - 1)]
        size = 0 if call == "barrier" else _number(attributes, "comm_size", MOST_BYTES)
        if not all(attributes.get("involved_dim") or ()):
            raise ValueError("involved_dim: found a part of the dimensions; allowed: all")
        group = attributes.get("pg_name", "")
        if not isinstance(group, str):
            raise ValueError(f"pg_name: found {shown(str(group))}; allowed: a text")
        number = CALLS.index(call)
        tag = self._group(group)
        one = self._here.add(Kind.COLL, size, 0, tag, thread=number, line=node.id, received=size)
        if self._last is not None:
            self._here.require(one, self._last)
        self._last = one
        return one

    def _group(self, name: str) -> int:
        """The number of a process group, which this process is in."""
        if name not in self._numbers:
            if name not in self._groups and name not in _EVERYONE:
                hint = nearest(name, list(self._groups)[:1000])
                allowed = f"allowed: one that a node of metadata before it lists{hint}"
                raise ValueError(f"pg_name: found {shown(name)}; {allowed}")
            called = f"group {shown(name)}" if name else "all processes"
            members = self._groups.get(name, range(len(self.ranks)))
            self._numbers[name] = self.collectives.add_group(members, called)
        if self._rank not in self.collectives.members(self._numbers[name]):
            raise ValueError(f"pg_name: rank {self._rank} is not in {shown(name)}")
        return self._numbers[name]

    def _learn_groups(self, text: str) -> None:
        """Learn of process groups: a list of objects with a name and ranks, as text in a list."""
        if "pg_name" not in text:
            return
        ranks = len(self.ranks)
        try:
            groups = {
                str(one["pg_name"]): tuple(map(int, one["ranks"])) or tuple(range(ranks))
                for one in json.loads(text[2:-2])
            }
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            allowed = "allowed: a list of objects with pg_name and ranks"
            raise ValueError(f"inputs: found {shown(text)}; {allowed}") from None
        for name, members in groups.items():
            if len(set(members)) < len(members) or not 0 <= min(members) <= max(members) < ranks:
                allowed = f"allowed: 0 to {ranks - 1}, each once"
                raise ValueError(f"group {shown(name)}: found {shown(str(members))}; {allowed}")
            if self._groups.setdefault(name, members) != members:
                raise ValueError(f"group {shown(name)}: found other ranks than in another node")


def _value(attribute: Any) -> Any:
    """What an attribute holds, as far as it is known; several values are of whether."""
    kind = attribute.WhichOneof("value")
    found: Any = getattr(attribute, kind) if kind else None
    return tuple(found.values) if kind == "bool_list" else found


def _number(attributes: dict[str, Any], name: str, most: int, otherwise: int | None = None) -> int:
    if name not in attributes:
        if otherwise is None:
            raise ValueError(f"{name}: missing; allowed: 0 to {most}")
        return otherwise
    found = attributes[name]
    if isinstance(found, float) and isfinite(found):
        found = round(found)
    if not isinstance(found, int) or not 0 <= found <= most:
        raise ValueError(f"{name}: found {shown(str(found))}; allowed: 0 to {most}")
    return found
