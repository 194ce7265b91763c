"""Eleven generations of drafters on one target, with equal training."""
