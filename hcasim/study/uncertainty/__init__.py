"""How far a result may be off: values that nobody has published, drawn at random."""
