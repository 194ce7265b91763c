"""A trace recomputed from its checkpoints through plain `transformers` forwards.

Nothing of the engine takes part: no forward, cache, session or verifier of ours. Knows nothing about screens.
"""
