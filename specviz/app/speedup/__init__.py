"""The When-it-pays tab: a sweep as a chart with theory over it."""
