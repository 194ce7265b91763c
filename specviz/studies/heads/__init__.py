"""What a smaller draft head covers and saves."""
