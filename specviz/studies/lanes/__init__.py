"""Drafting beside verifying: what each of the two did when."""
