"""What holds for every test: no network, no telemetry, one thread."""

import os

# Read when torch, transformers or gradio are first imported, so they stand here and not in a fixture.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["OMP_NUM_THREADS"] = "1"
