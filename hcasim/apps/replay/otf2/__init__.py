"""Archives of OTF2."""
