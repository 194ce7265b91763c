"""Language models behind one protocol: transformers, a lean Llama forward, and an exact toy table."""
