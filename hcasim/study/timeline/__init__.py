"""Timelines: what each block of a run did and when, as files that other tools show."""
