"""Running: one point, many points, what may vary, and what was measured."""
