"""What several drafters share: ways of drawing candidates, and the cache of a drafting model. Registers nothing."""
