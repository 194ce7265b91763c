"""The lean forward for checkpoints of the Llama architecture, alone and in batches, and with eyes."""
