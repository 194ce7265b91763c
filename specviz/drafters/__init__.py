"""Drafters, one file per method; found by the registry."""
