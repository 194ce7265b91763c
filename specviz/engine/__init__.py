"""One text being decoded: pairing, rounds, commit and rollback, and the recorder that writes the trace."""
