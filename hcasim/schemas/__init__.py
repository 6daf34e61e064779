"""JSON Schemas of all files that hcasim reads and writes, for editors and programs."""
