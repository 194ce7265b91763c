"""What a lossy rule buys, and with which error."""
