"""What several drafters share: the cache of a drafting model, and the draft under way. Registers nothing."""
