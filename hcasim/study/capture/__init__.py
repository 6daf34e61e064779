"""Captures: the packets of a link of a run, as Wireshark reads them."""

from hcasim.study.capture.capture import ENDINGS, Capture, Tap, captured, read_tap

__all__ = ["ENDINGS", "Capture", "Tap", "captured", "read_tap"]
