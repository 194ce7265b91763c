"""The About tab."""
