"""The Analysis tab: why a drafter's tokens are rejected, over one run, two, or many."""
