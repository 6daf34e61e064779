"""What NetPIPE writes: its file np.out, and its terminal output."""
