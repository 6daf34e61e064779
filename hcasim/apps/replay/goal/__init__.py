"""Schedules of GOAL, as text that is read and written."""
