"""Runs plain decoding and up to three drafters on one prompt."""
