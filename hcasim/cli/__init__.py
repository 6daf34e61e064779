"""The command line: parsing and printing only. Everything else is imported by the commands."""

from hcasim.cli.app import app, main

__all__ = ["app", "main"]
