"""Fits to traces: what was measured, beside what a machine gives."""
