"""Several texts decoded together: one pass of a model serves all of them, and none knows of the others."""
