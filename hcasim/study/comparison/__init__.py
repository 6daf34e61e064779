"""Two machines or results side by side, and which parameters explain their difference."""
