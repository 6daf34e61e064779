"""Benchmarks of MPI libraries, under the names and with the loops of their users' tools."""
