"""All calls that programs make of the simulator."""
