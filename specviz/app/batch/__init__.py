"""Speculation in a batch: a recorded result as a chart of speedup and acceptance against the size."""
