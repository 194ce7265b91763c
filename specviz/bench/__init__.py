"""Measuring: sweeps over any trace source, and the comparison with transformers behind `specviz bench`."""
