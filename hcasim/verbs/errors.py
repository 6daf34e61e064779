"""How a verbs call fails."""


class VerbsError(Exception):
    """A verbs call failed; ``errno`` is what the C call would return, such as ``ENOMEM``."""

    def __init__(self, errno: str, message: str) -> None:
        super().__init__(errno, message)
        self.errno = errno

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.args[1]}"
