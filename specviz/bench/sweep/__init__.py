"""Measures a declared sweep through any trace source."""
