"""What a screen may ask of an engine, as plain data and protocols: runs, profiles, proofs, races, sweeps."""
