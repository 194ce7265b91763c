"""Why candidates are rejected: what any number of traces say of a drafter, as plain tables."""
