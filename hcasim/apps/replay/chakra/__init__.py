"""Execution traces of Chakra."""
