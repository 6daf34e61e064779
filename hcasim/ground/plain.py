"""Numbers of programs, as Python's own; and results in one line, for `repr`."""

from __future__ import annotations


def plain(value: object) -> object:
    """Return a number of NumPy as Python's own, and a whole one as an integer; others as they are.

    Parameters:
        value: such as 4, 4.0, numpy.int64(4) or numpy.True_.
    """
    # What NumPy calls a scalar has no dimensions, and so has an array of one number.
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def brief(thing: object, *names: object, **parts: object) -> str:
    """Return the one line that stands for a result.

    Parameters:
        thing: of which class it is.
        names: what it is called.
        parts: what else tells it from others.
    """
    words = [*map(repr, names), *(f"{name}={part!r}" for name, part in parts.items())]
    return f"{type(thing).__name__}({', '.join(words)})"
