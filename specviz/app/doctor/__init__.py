"""The Doctor tab: what an engine's own numbers say of its speculation, and what the target says of two answers."""
