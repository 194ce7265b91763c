"""Drafting and verifying at the same time: two machines that meet on a board, simulated or as two processes."""
