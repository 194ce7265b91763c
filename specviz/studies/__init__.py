"""Studies: what was measured once, kept as a file, and is shown on the page and in the documentation.

A folder each: `result.py` is the result as data with its one `STUDY`, `measure.py` computes it. `study.py` is the shape
of all.
"""
