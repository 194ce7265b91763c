"""Verifiers, one file per rule; found by the registry."""
