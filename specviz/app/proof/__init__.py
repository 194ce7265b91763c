"""The Proof tab: losslessness line by line, by sampling, and by greedy equality."""
