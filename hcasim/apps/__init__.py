"""Programs: what processes compute and send, written as generators of a communicator."""
