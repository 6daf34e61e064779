"""linux-rdma/perftest: its text, read and written, and its JSON."""
