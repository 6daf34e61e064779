"""What every room stands on: data files, units, faults in words, whole files."""
