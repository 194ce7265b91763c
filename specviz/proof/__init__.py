"""Losslessness, shown instead of claimed: by exact enumeration on toy models, and with bugs planted on purpose."""
