"""Reports for readers: what a reproduction of papers found, and what it rests on."""

from hcasim.study.report.reproduction import document

__all__ = ["document"]
