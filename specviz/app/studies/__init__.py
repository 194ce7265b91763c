"""The Studies tab: what was measured once, one question at a time."""
