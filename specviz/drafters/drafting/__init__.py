"""Drafts that need no training: by policies, a model, some of the target's layers, matches, or beside the target."""
