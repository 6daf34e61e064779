"""Timelines: what each block of a run did and when, as files that other tools show."""

from hcasim.study.timeline.choice import Choice, read_choice
from hcasim.study.timeline.recording import ENDINGS, is_timeline, recorded, timeline
from hcasim.study.timeline.watching import Timeline

__all__ = [
    "ENDINGS",
    "Choice",
    "Timeline",
    "is_timeline",
    "read_choice",
    "recorded",
    "timeline",
]
