"""Classes of forgeries that a trace itself shows: each makes many of shipped recordings, by the same few steps.

Beside `falsifications`, which are single cases: here a whole class is tried at every place where a recording has it.
"""
