"""Which of its two builds this installation is."""

from importlib.machinery import ExtensionFileLoader, PathFinder
from pathlib import Path


def build() -> str:
    """``compiled`` or ``pure Python``; nothing is imported for it."""
    engine = Path(__file__).parents[1] / "engine"
    found = PathFinder.find_spec("clock", [str(engine)])
    compiled = found is not None and isinstance(found.loader, ExtensionFileLoader)
    return "compiled" if compiled else "pure Python"
