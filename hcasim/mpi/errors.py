"""What an MPI call refuses, and programs that cannot go on."""

from __future__ import annotations


class MPIError(Exception):
    """An MPI call failed.

    Attributes:
        name: of the error class, such as ``MPI_ERR_TRUNCATE``.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)
        self.name = name

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.args[1]}"


class DeadlockError(Exception):
    """No process can go on.

    Attributes:
        waiting: for each process that waits, what it waits for.
    """

    def __init__(self, waiting: dict[int, str]) -> None:
        super().__init__(waiting)
        self.waiting = waiting

    def __str__(self) -> str:
        each = "; ".join(f"rank {rank} waits for {what}" for rank, what in self.waiting.items())
        return f"no process can go on: {each}"
