"""Drafting beside verifying, measured: plain, in turn, PEARL and AMUSD on the same texts."""
