"""Gradio components of our own. Knows nothing about tabs."""
