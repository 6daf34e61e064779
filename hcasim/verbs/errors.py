"""How a verbs call fails."""


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
