"""Patterns of flows between many nodes, and how long each flow takes.

A flow is a test of perftest's from one node to another; all begin at once. Its completion time goes
from its first request to its last completion, as the sender sees them.
"""
