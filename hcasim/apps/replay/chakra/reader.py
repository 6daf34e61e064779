"""Reads Chakra execution traces: the nodes of a graph for each process, in a file NAME.RANK.et.

A node begins when all have ended that it depends on, by data or control. Computing takes the
duration of its node, or its operations (`num_ops`) at a rate if it has none; nodes of processors
(`is_cpu_op`) and of accelerators compute at the same time. Messages and collectives are calls of
MPI; a process makes its collectives in the order of its file, and does nothing else meanwhile.
Nodes of memory and of metadata take no time. Process groups are those that nodes of metadata list,
and "" and "0" are all processes, if no such node says otherwise.

`comm_size` is what a process has before: the part of each in all-gather, all parts in
reduce-scatter and all-to-all. The first of a group is the root.

Sources: MLCommons Chakra 1.0, schema/protobuf/et_def.proto; ASTRA-sim, for sizes
astra-sim/system/astraccl/native_collectives/collective_algorithm/Ring.cc, and
astra-sim/workload/Workload.cc.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final

from hcasim.apps.replay.chakra.nodes import looks_so, messages, split, value
from hcasim.apps.replay.collectives import Collective, Collectives
from hcasim.apps.replay.extras import need
from hcasim.apps.replay.graph import CALC, COLL, RECV, SEND, Operations
from hcasim.apps.replay.text import LARGEST, Faults, TooMuchWrong, read_bytes
from hcasim.apps.replay.trace import MOST_ACTIONS, MOST_BYTES, MOST_RANKS
from hcasim.ground.errors import CatalogError, display, nearest
from hcasim.ground.faults import shown
from hcasim.ground.process import tell_read, unwatched
from hcasim.ground.text import printable
from hcasim.mpi.messages import MAX_SECONDS

_NAME: Final = re.compile(r"(.+)\.([0-9]{1,7})\.et")
_NODES: Final = ("invalid", "metadata", "memory", "memory", "compute", "send", "recv", "collective")
_COLLECTIVES: Final = {
    0: "allreduce",
    1: "reduce",
    2: "allgather",
    3: "gather",
    4: "scatter",
    5: "bcast",
    6: "alltoall",
    7: "reduce_scatter",
    8: "reduce_scatter",
    9: "barrier",
}
_EVERYONE: Final = ("", "0")
_MOST_OPERATIONS: Final = 2**62
_MOST_TAG: Final = 2**31
_PS: Final = 10**6
"""Of a microsecond."""
_NUMBERS: Final = 2**40
"""More than the nodes of a file."""


def is_chakra(path: Path, data: bytes) -> bool:
    """Whether a file is that of one process."""
    return looks_so(data) or _NAME.fullmatch(path.name) is not None


class Nodes(Faults):
    """All that is wrong with the files; their lines are nodes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.files: list[str] = []
        self.ids: list[array[int]] = []

    def place(self, line: int) -> str:
        """Where a node is."""
        rank, number = divmod(line, _NUMBERS)
        return f"{self.files[rank]}: node {self.ids[rank][number - 1]}"

    def told(self, line: int) -> str:
        """What a node is called."""
        rank, number = divmod(line, _NUMBERS)
        return f"node {self.ids[rank][number - 1]}"


class ChakraReader:
    """Reads the files of a trace.

    Attributes:
        ranks: the operations of each process.
        collectives: and their collectives.
        faults: what is wrong with them.
    """

    def __init__(self, path: Path, name: str) -> None:
        need(name, "google.protobuf", "chakra")
        self.faults = Nodes(name)
        self.collectives = Collectives(parts)
        self.groups: dict[str, tuple[int, ...]] = {}
        self._numbers: dict[str, int] = {}
        self._left = MOST_ACTIONS
        files = self._files(path, name)
        self.ranks = [Operations() for _ in files]
        self._waiting: list[list[tuple[int, str, str, int]]] = [[] for _ in files]
        try:
            for rank, file in enumerate(files):
                self._read(rank, file)
            self._add_collectives()
        except TooMuchWrong:
            self.faults.refuse()

    def _files(self, path: Path, name: str) -> list[Path]:
        found = _NAME.fullmatch(path.name)
        if found is None:
            allowed = "allowed: NAME.0.et, NAME.1.et and so on, one for each process"
            raise CatalogError([f"{name}: found {shown(path.name)}; {allowed}"])
        files: dict[int, Path] = {}
        with unwatched():
            # Only the names of its own files count.
            beside = [*path.parent.iterdir()]
        for one in beside:
            other = _NAME.fullmatch(one.name)
            if other is not None and other[1] == found[1]:
                if int(other[2]) in files:
                    raise CatalogError([f"{name}: found rank {int(other[2])} in two files"])
                files[int(other[2])] = one
        count = max(files, default=0) + 1
        tell_read(path.with_name(f"{found[1]}.{count}.et"))
        if count > MOST_RANKS:
            raise CatalogError([f"{name}: found rank {count - 1}; allowed: 0 to {MOST_RANKS - 1}"])
        missing = [rank for rank in range(count) if rank not in files]
        if missing:
            which = ", ".join(f"{printable(found[1])}.{rank}.et" for rank in missing[:5])
            which += ", ..." * (len(missing) > 5)
            raise CatalogError([f"{name}: found {len(files)} files of {count}; missing: {which}"])
        size = sum(one.stat().st_size for one in files.values())
        if size > LARGEST:
            raise CatalogError([f"{name}: found {size} B in its files; allowed: {LARGEST} B"])
        return [files[rank] for rank in range(count)]

    def _read(self, rank: int, file: Path) -> None:
        from google.protobuf.message import DecodeError

        faults = self.faults
        faults.files.append(printable(display(file)))
        faults.ids.append(array("Q"))
        kinds = messages()
        process = _Process(self, rank)
        try:
            _, data = read_bytes(file)
            for number, (start, found) in enumerate(split(data)):
                one = (kinds["Node"] if number else kinds["Metadata"])()
                try:
                    one.ParseFromString(found)
                except DecodeError:
                    raise ValueError(f"found no node of a trace at byte {start}") from None
                if number:
                    process.take(one)
        except ValueError as error:
            self._add(rank, str(error))
        except CatalogError as error:
            for fault in error.faults:
                self._add(rank, fault.removeprefix(f"{faults.files[rank]}: "))
        process.finish()

    def _add(self, rank: int, reason: str) -> None:
        where = f"{Path(self.faults.files[rank]).name}: " if rank else ""
        self.faults.add(0, where + reason)

    def count(self, number: int) -> None:
        """So many more nodes and dependencies.

        Raises:
            TooMuchWrong: there are too many.
        """
        self._left -= number
        if self._left < 0:
            self.faults.add(0, f"found more than {MOST_ACTIONS:,} nodes and dependencies")
            raise TooMuchWrong

    def keep(self, rank: int, one: int, call: str, group: str, size: int) -> None:
        """Keep a collective until all groups are known."""
        self._waiting[rank].append((one, call, group, size))

    def _add_collectives(self) -> None:
        for rank, found in enumerate(self._waiting):
            for one, call, name, size in found:
                line = self.ranks[rank].lines[one]
                group = self._group(name, line)
                if group is None:
                    continue
                if rank not in self.collectives.members(group):
                    self.faults.add(line, f"pg_name: rank {rank} is not in {shown(name)}")
                    continue
                place = self.collectives.add(group, rank, call, 0, size, size, line)
                self.ranks[rank].sizes[one], self.ranks[rank].tags[one] = place, group

    def _group(self, name: str, line: int) -> int | None:
        if name in self._numbers:
            return self._numbers[name]
        members = self.groups.get(name)
        if members is None:
            if name not in _EVERYONE:
                known = list(self.groups)[:1000]
                allowed = f"allowed: one that a node of metadata lists{nearest(name, known)}"
                self.faults.add(line, f"pg_name: found {shown(name)}; {allowed}")
                return None
            members = tuple(range(len(self.ranks)))
        called = f"group {shown(name)}" if name else "all processes"
        self._numbers[name] = self.collectives.add_group(members, called)
        return self._numbers[name]


class _Process:
    """The nodes of one process."""

    def __init__(self, reader: ChakraReader, rank: int) -> None:
        self._reader, self._rank = reader, rank
        self._operations = reader.ranks[rank]
        self._faults, self._ids = reader.faults, reader.faults.ids[rank]
        self._places: dict[int, int] = {}
        self._later, self._earlier = array("Q"), array("Q")
        self._collective: int | None = None

    def take(self, node: Any) -> None:
        """Take the next node."""
        self._reader.count(1 + len(node.data_deps) + len(node.ctrl_deps))
        self._ids.append(node.id)
        line = self._rank * _NUMBERS + len(self._ids)
        if node.id in self._places:
            self._faults.add(line, "found again; allowed: an id for each node")
        try:
            one = self._operation(node, line)
        except ValueError as error:
            self._faults.add(line, str(error))
            one = self._operations.add(CALC, 0, line=line)
        self._places[node.id] = one
        for earlier in (*node.data_deps, *node.ctrl_deps):
            self._later.append(one)
            self._earlier.append(earlier)

    def finish(self) -> None:
        """Join the nodes when all are known."""
        for later, earlier in set(zip(self._later, self._earlier, strict=True)):
            if earlier in self._places:
                self._operations.require(later, self._places[earlier])
            else:
                line = self._operations.lines[later]
                self._faults.add(line, f"depends on node {earlier}, which is not in its file")

    def _operation(self, node: Any, line: int) -> int:
        attributes = {one.name: one for one in node.attr}
        if not 0 <= node.type < len(_NODES):
            raise ValueError(f"type: found {node.type}; allowed: 0 to {len(_NODES) - 1}")
        kind = _NODES[node.type]
        if kind == "compute":
            return self._compute(node, attributes, line)
        if kind in ("send", "recv"):
            return self._message(kind, attributes, line)
        if kind == "collective":
            return self._collect(attributes, line)
        if kind == "metadata" and node.inputs.values:
            self._groups(node.inputs.values)
        return self._operations.add(CALC, 0, line=line)

    def _compute(self, node: Any, attributes: dict[str, Any], line: int) -> int:
        # An accelerator is another thread than the processor.
        thread = 0 if _flag(attributes, "is_cpu_op") else 1
        most = MAX_SECONDS * 10**6
        micros = _number(attributes, "runtime", most, node.duration_micros)
        if micros > most:
            raise ValueError(f"duration_micros: found {micros}; allowed: 0 to {most}")
        if micros or "num_ops" not in attributes:
            return self._operations.add(CALC, micros * _PS, thread=thread, line=line)
        amount = _number(attributes, "num_ops", _MOST_OPERATIONS)
        one = self._operations.add(CALC, amount, thread=thread, line=line)
        self._operations.counted.add(one)
        return one

    def _message(self, kind: str, attributes: dict[str, Any], line: int) -> int:
        own, other = ("comm_src", "comm_dst") if kind == "send" else ("comm_dst", "comm_src")
        most = len(self._reader.ranks) - 1
        rank = _number(attributes, own, most, self._rank)
        if rank != self._rank:
            raise ValueError(f"{own}: found {rank}; allowed: {self._rank}, whose file this is")
        peer = _number(attributes, other, most)
        size = _number(attributes, "comm_size", MOST_BYTES)
        tag = _number(attributes, "comm_tag", _MOST_TAG, 0)
        return self._operations.add(SEND if kind == "send" else RECV, size, peer, tag, line=line)

    def _collect(self, attributes: dict[str, Any], line: int) -> int:
        number = _number(attributes, "comm_type", max(_COLLECTIVES))
        call = _COLLECTIVES[number]
        size = 0 if call == "barrier" else _number(attributes, "comm_size", MOST_BYTES)
        if "involved_dim" in attributes and not all(attributes["involved_dim"].bool_list.values):
            raise ValueError("involved_dim: found a part of the dimensions; allowed: all")
        group = value(attributes["pg_name"]) if "pg_name" in attributes else ""
        if not isinstance(group, str):
            raise ValueError(f"pg_name: found {shown(str(group))}; allowed: a text")
        one = self._operations.add(COLL, 0, line=line)
        self._reader.keep(self._rank, one, call, group, size)
        if self._collective is not None:
            self._operations.require(one, self._collective)
        self._collective = one
        return one

    def _groups(self, text: str) -> None:
        """Learn of process groups: a list of objects with a name and ranks, as text in a list."""
        if "pg_name" not in text:
            return
        ranks = len(self._reader.ranks)
        try:
            found = json.loads(text[2:-2])
            groups = {
                str(one["pg_name"]): tuple(map(int, one["ranks"])) or tuple(range(ranks))
                for one in found
            }
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            allowed = "allowed: a list of objects with pg_name and ranks"
            raise ValueError(f"inputs: found {shown(text)}; {allowed}") from None
        for name, members in groups.items():
            if len(set(members)) < len(members) or not 0 <= min(members) <= max(members) < ranks:
                allowed = f"allowed: 0 to {ranks - 1}, each once"
                raise ValueError(f"group {shown(name)}: found {shown(str(members))}; {allowed}")
            if self._reader.groups.setdefault(name, members) != members:
                raise ValueError(f"group {shown(name)}: found other ranks than in another node")


def _number(attributes: dict[str, Any], name: str, most: int, otherwise: int | None = None) -> int:
    if name not in attributes:
        if otherwise is None:
            raise ValueError(f"{name}: missing; allowed: 0 to {most}")
        return otherwise
    found = value(attributes[name])
    if isinstance(found, float) and isfinite(found):
        found = round(found)
    if not isinstance(found, int) or not 0 <= found <= most:
        raise ValueError(f"{name}: found {shown(str(found))}; allowed: 0 to {most}")
    return found


def _flag(attributes: dict[str, Any], name: str) -> bool:
    return name in attributes and bool(value(attributes[name]))


def parts(one: Collective) -> Sequence[int]:
    """Bytes of the part of each member, by what it has before."""
    size = len(one.sent)
    most = max(one.sent)
    if one.call in ("alltoall", "reduce_scatter", "scatter"):
        most = -(-most // size)
    return [most] * size
