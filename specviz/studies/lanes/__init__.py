"""Drafting while the target verifies: what each of the two did, and when."""
