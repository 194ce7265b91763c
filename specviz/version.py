"""The version of SpecViz: of the package, and what every header names. The trace format has a version of its own."""

__version__ = "0.1.0"
