"""On which parameters a result rests: each over what is plausible, one at a time or all at once."""
