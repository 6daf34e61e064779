"""An option of a benchmark: how it is written, and what it may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

from hcasim.ground.errors import Fault, nearest, one_of, written
from hcasim.ground.text import items_of, plain


@dataclass(frozen=True)
class Option:
    """How an option is written and what it may be; as an axis, what a curve is drawn over.

    Attributes:
        low, high: least and greatest number; usually what an int of C holds.
        is_size: whether it is in bytes, which are also written with K, M and G.
        is_power: whether only powers of two are allowed.
        short: its letter on the command line.
        title: of a column and an axis; an option with one may have several values.
        doubling: whether values are spread by doubling: as a range, and on a logarithmic axis.
        name: of the field of `Options` and of the key of a row.
        words: those it may be, if it is a word.
        is_flag, is_name: whether it is on or off, and a name that depends on the machine.
        varies: the defaults that it has, if the workload says which.
        usual: its default; none if it varies.
    """

    help: str
    low: int = 1
    high: int = 2**31 - 1
    is_size: bool = False
    is_power: bool = False
    short: str = ""
    title: str = ""
    doubling: bool = True
    name: str = ""
    words: tuple[str, ...] = ()
    is_flag: bool = False
    is_name: bool = False
    varies: str = ""
    usual: Any = None

    @property
    def allowed(self) -> str:
        """The numbers that it may be, for messages."""
        # Units take long to import.
        from hcasim.ground.units import format_size

        low, high = map(format_size if self.is_size else str, (self.low, self.high))
        return f"{'powers of two from ' if self.is_power else ''}{low} to {high}"

    def fault(self, value: Any, text: str = "") -> Fault | None:
        """Say that a value, written as some text, is not allowed, and what is."""
        if self.words:
            found, known = str(value), value in self.words
            hint = nearest(found, self.words)
            return None if known else Fault("", found, one_of(self.words), hint)
        fits = self.is_name or self.is_flag or self.low <= value <= self.high
        if fits and not (self.is_power and value & (value - 1)):
            return None
        try:
            text = text or str(value)
        except ValueError:
            # Python writes no whole number of so many digits.
            text = "a number of thousands of digits"
        return Fault("", value, self.allowed, text=text)

    def read(self, given: Any) -> Any:
        """Return what was given, as text or not: a value, or for an axis all of them.

        Parameters:
            given: such as "16", "4K", or for an axis 8, [8, 64], "8,64" or "4..1M": a range holds
                the powers of two between its ends and the ends themselves.

        Returns:
            The value; the values of an axis in the order written, each once.

        Raises:
            ValueError: a line for each fault of a text.
        """
        given = plain(given)
        if self.is_flag or self.is_name or self.words:
            if isinstance(given, bool if self.is_flag else str):
                return given
            allowed = "true or false" if self.is_flag else ", ".join(self.words)
            raise ValueError(f"found {written(given)}; allowed: {allowed or 'a group of nodes'}")
        if not self.title:
            return self._number(given)
        if isinstance(given, str):
            items: list[Any] = [part.strip() for part in given.split(",")]
        else:
            items = items_of(given) or [given]
        found: dict[int, None] = {}
        faults: list[str] = []
        for item in items:
            try:
                values = self._range(item)
            except ValueError as error:
                faults.append(str(error))
                continue
            text = str(item) if len(values) == 1 else ""
            ends = dict.fromkeys((values[0], values[-1]))
            faults += filter(None, (self.fault(end, text) for end in ends))
            found.update(dict.fromkeys(values))
        if faults:
            raise ValueError("\n".join(faults))
        return tuple(found)

    def _range(self, item: Any) -> Sequence[int]:
        first, dots, last = item.partition("..") if isinstance(item, str) else (item, "", "")
        if not (dots and self.doubling):
            return [self._number(item)]
        low, high = self._number(first), self._number(last)
        if low > high:
            raise ValueError(f"found the range {item!r}, whose end is below its start")
        powers = (1 << n for n in range(low.bit_length(), high.bit_length()))
        return [low, *(number for number in powers if number < high), high]

    def _number(self, given: Any) -> int:
        from hcasim.ground.units import parse_size

        try:
            given = plain(given)
            if isinstance(given, str):
                return parse_size(given) if self.is_size else int(given)
            if isinstance(given, bool):
                raise TypeError
            return index(given)
        except (ValueError, TypeError):
            allowed = f"a whole number from {self.allowed}"
            if self.is_size:
                allowed = "a size such as 8, 4K or 1M"
            if self.title:
                ranges = ", or a range such as 4..64" if self.doubling else ""
                allowed += f", or several such as 8,64{ranges}"
            raise ValueError(f"found {written(given)}; allowed: {allowed}") from None

    def label(self, value: int) -> str:
        """Write a value as the papers' axes do: 512, 4K, 1M."""
        for suffix, factor in (("G", 2**30), ("M", 2**20), ("K", 2**10)) if self.is_size else ():
            if value >= factor and value % factor == 0:
                return f"{value // factor}{suffix}"
        return str(value)
