"""Replays what other programs have done: their messages and what they computed between them."""

from hcasim.apps.replay.reading import FORMS, read_schedule
from hcasim.apps.replay.trace import RATE, Trace

__all__ = ["FORMS", "RATE", "Trace", "read_schedule"]
