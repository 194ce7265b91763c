"""Why candidates die: what any number of traces say of a drafter, as plain tables."""
