"""What the OSU micro-benchmarks print."""
