"""What the data say about one parameter, in words."""

from __future__ import annotations

from dataclasses import dataclass

_TOGETHER = "only in combination with "


@dataclass(frozen=True)
class Verdict:
    """What the data say about one parameter.

    Parameters:
        identified: whether they determine it.
        partners: the others of the combinations of which alone something is known; empty if it
            is identified, or if the data say nothing at all.
        known: the only side from which the data limit it: "above", "below" or neither.
        ended: whether the search for it came to an end.
    """

    identified: bool
    partners: tuple[str, ...] = ()
    known: str = ""
    ended: bool = True

    def __str__(self) -> str:
        if not self.ended:
            return "unknown: the search did not end"
        if self.identified:
            return "identified"
        if not self.partners:
            return f"only from {self.known}" if self.known else "not at all"
        return f"{_TOGETHER}{' and '.join(self.partners)}"


def partners(verdict: str) -> list[str]:
    """Return with what alone a parameter is known, as its verdict says in a file.

    Parameters:
        verdict: in words, with what is said of ties behind it.
    """
    if not verdict.startswith(_TOGETHER):
        return []
    return verdict.removeprefix(_TOGETHER).partition(",")[0].split(" and ")
