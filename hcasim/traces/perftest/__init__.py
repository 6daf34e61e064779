"""What linux-rdma/perftest prints: its text and its JSON."""
