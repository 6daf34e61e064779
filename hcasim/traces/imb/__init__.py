"""What the Intel MPI Benchmarks print, and those of Pallas before them."""
