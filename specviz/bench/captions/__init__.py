"""Acceptance on captions, split by what decides a token: the picture or the grammar."""
