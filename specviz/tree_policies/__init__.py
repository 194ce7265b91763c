"""Tree policies, one file per method; found by the registry."""
