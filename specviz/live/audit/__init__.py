"""A trace recomputed from its checkpoints through plain `transformers` forwards.

Nothing of the engine takes part: not its forward, cache, session or verifiers. Knows nothing about screens.
"""
