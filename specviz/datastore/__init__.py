"""A text to retrieve from: token ids on disk with their suffix array, searched through a memory map.

    store.build ─► store.order ─► one file ─► store: which places of the text begin with these tokens?

Knows nothing about drafters, models or where the text comes from.
"""
