"""Texts that models learn from and drafters retrieve from, split into training and held-out documents."""
