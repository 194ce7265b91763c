"""Prompt styles measured: the same questions in several styles, plainly and with drafters."""
