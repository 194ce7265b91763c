"""The Speedup tab: a sweep as a chart with theory over it."""
