"""The probes, built once for all tests."""

from tests.probes.conftest import probes, sources

__all__ = ["probes", "sources"]
