"""The command line: parsing and printing only. Everything else is imported by the commands."""

from hcasim.cli.main import app, main

__all__ = ["app", "main"]
