"""The charts below the Speedup tab."""
