"""What commands share: the terminal, progress, flags, the live source."""
