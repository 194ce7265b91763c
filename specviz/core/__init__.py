"""What every method is built from: the draft tree, sampling and randomness, the clock, compiled C."""
