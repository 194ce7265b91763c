"""Any full-attention causal model of transformers: its files, whether it can be used, its forward, and layers alone."""
