"""Fits in files: read with every fault said, and taken on by a machine."""
