"""Timelines: what each block of a run did and when, as files that other tools show."""

from hcasim.study.timeline.recording import (
    ENDINGS,
    is_timeline,
    read_choice,
    recorded,
    timeline,
)
from hcasim.study.timeline.tracks import Choice
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
