"""The live source: requests in words become runs of the engine on real models."""
