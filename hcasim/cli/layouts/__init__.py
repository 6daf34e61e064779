"""The layouts in which other tools print what they measure."""
