"""Sweeps: what a benchmark or a program measures over any settings, as one table."""
