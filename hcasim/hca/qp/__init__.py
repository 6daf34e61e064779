"""Queue pairs, which alone change their state: both halves of each transport, and their queues."""
