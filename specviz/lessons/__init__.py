"""Lessons: texts and questions over recorded runs, as data; every number and every right answer comes from a trace.

Reads traces and formulas, knows no screen: `read` the files, `resolve` them against runs, hand the result to a page.
"""
