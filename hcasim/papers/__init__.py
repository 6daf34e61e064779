"""Published experiments: replayed, compared with what was stated, and drawn."""
