"""The page: gradio widgets around one player. Reads traces; knows nothing about the engine."""
