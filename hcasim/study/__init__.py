"""What-if studies: many runs, what differs between them and why, and pages that show it."""
