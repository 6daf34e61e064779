"""Congestion control: who is told of congestion, and how fast each may send then."""
