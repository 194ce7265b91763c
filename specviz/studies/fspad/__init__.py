"""FSPAD-style drafting: feature sampling against partial alignment."""
