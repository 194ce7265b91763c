"""The alignment study as tables."""
