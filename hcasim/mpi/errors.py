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
        ended: ranks of those that wait for nothing more.
    """

    def __init__(self, waiting: dict[int, str], ended: list[int]) -> None:
        super().__init__(waiting, ended)
        self.waiting = waiting
        self.ended = ended

    def __str__(self) -> str:
        each = [f"rank {rank} waits for {what}" for rank, what in self.waiting.items()]
        each += [f"rank {rank} has ended" for rank in self.ended]
        return f"no process can go on: {'; '.join(each) or 'none of them waits for MPI'}"
