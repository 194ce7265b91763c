"""SpecViz: watch speculative decoding think, step by step, with real models and true numbers."""

__version__ = "0.1.0"
