"""Numbers and formulas: metrics of a trace, expected speedups, the roofline, simulation. No torch, no models."""
