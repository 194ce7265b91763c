"""Compares all drafters with plain decoding."""
