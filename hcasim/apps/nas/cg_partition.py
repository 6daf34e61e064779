"""The part of the matrix of CG that a process has, and whom it exchanges vectors with.

Source: NPB 3.3.1, CG/cg.f, setup_submatrix_info, and sys/setparams.c.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exchange:
    """One step of a sum over the processes of a row.

    Attributes:
        partner: who gets a piece of the own part sums, and gives one of its own.
        send_start: of the piece that is sent.
        send_length: elements of it.
        recv_start: where the other goes.
        recv_length: elements of that.
    """

    partner: int
    send_start: int
    send_length: int
    recv_start: int
    recv_length: int


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows and columns of a process, counted from 0.

    Attributes:
        first_row: of the matrix.
        rows: number of them.
        first_column: of the matrix.
        columns: number of them.
        send_start: of the piece of the sum that is the process's own in the end.
        send_length: elements of it.
        transposed: process that needs this piece as elements of its columns.
        exchanges: of a sum of scalars, in order; a sum of vectors has them the other way around.
    """

    first_row: int
    rows: int
    first_column: int
    columns: int
    send_start: int
    send_length: int
    transposed: int
    exchanges: tuple[Exchange, ...]


def grid(n: int) -> tuple[int, int]:
    """Rows and columns of processes, for a power of two."""
    log2 = n.bit_length() - 1
    return 1 << log2 // 2, 1 << (log2 + 1) // 2


def _share(order: int, parts: int, number: int) -> tuple[int, int]:
    """First element and number of elements, of which the first parts may have one more."""
    each, more = divmod(order, parts)
    return number * each + min(number, more), each + (number < more)


def partition(order: int, rank: int, n: int) -> Partition:
    """What a process has of a matrix of so many rows."""
    grid_rows, grid_columns = grid(n)
    row, column = divmod(rank, grid_columns)
    square = grid_rows == grid_columns
    first_row, rows = _share(order, grid_rows, row)
    if square or order % grid_columns == 0:
        first_column, columns = _share(order, grid_columns, column)
    else:
        # Two processes side by side share the columns that are the rows of one.
        first_column, columns = _share(order, grid_rows, column // 2)
        half = (columns + 1) // 2
        first_column, columns = (
            (first_column + half, columns - half) if column % 2 else (first_column, half)
        )
    half = (rows + 1) // 2
    if square:
        send_start, send_length = 0, rows
        transposed = rank % grid_rows * grid_rows + rank // grid_rows
    else:
        send_start, send_length = (half, rows - half) if column % 2 else (0, half)
        pair = rank // 2
        transposed = 2 * (pair % grid_rows * grid_rows + pair // grid_rows) + rank % 2
    exchanges = []
    distance = grid_columns // 2
    while distance:
        partner = row * grid_columns + (column ^ distance)
        start, length = send_start, send_length
        if distance == 1 and not square:
            # The halves are parted in the step between the two that have one each.
            start = 0 if column % 2 else send_length
            length = rows - send_length
        exchanges.append(Exchange(partner, start, length, send_start, send_length))
        distance //= 2
    return Partition(
        first_row,
        rows,
        first_column,
        columns,
        send_start,
        send_length,
        transposed,
        tuple(exchanges),
    )
