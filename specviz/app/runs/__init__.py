"""Runs as the page shows them: the recorded ones with their examples, a live one while it grows."""
