"""A small world in plain English: seeded generators of short documents, one module per family.

Place in the flow: beside the Python corpus; `generator` writes the documents that the target reads half of its time.
The texts are this project's own (Apache-2.0). Nothing here knows tokens or models.
"""
