"""Measured or published curves beside what the model gives, and whether both agree."""
