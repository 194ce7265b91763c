"""Measures how long a pass over n rows takes."""
