"""Batches measured: plain and speculative decoding of the same texts in batches of several sizes."""
