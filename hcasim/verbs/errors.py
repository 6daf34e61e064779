"""How a verbs call fails."""

from enum import Enum
from typing import TypeVar

_Member = TypeVar("_Member", bound=Enum)


class VerbsError(Exception):
    """A verbs call failed.

    Attributes:
        errno: what the C call would return, such as ``ENOMEM``.
        bad_wr: of a list of requests the first that was not posted, by its place in the list.
    """

    def __init__(self, errno: str, message: str) -> None:
        super().__init__(errno, message)
        self.errno = errno
        self.bad_wr = 0

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.args[1]}"


def member(kind: type[_Member], value: object, what: str) -> _Member:
    """The member of an enumeration that a program gave, by itself or by its number in libibverbs.

    Raises:
        VerbsError: ``EINVAL`` if there is none; ``what`` is its name there.
    """
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join([f"{one.value} {one.name}" for one in kind])
        raise VerbsError("EINVAL", f"{what} is {value}; allowed: {allowed}") from None
