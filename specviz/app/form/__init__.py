"""What a visitor asks for, as controls: models, methods, prompts and limits, and the request that they make."""
