"""The method map's tab: every published system by what drafts, what shape, what verifies and what it needs."""
