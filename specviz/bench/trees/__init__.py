"""Compares tree policies and verifiers."""
