"""Networks that learn to draft: what they all are, their files, families of heads, EAGLE and cross-attention."""
