"""The charts below the When-it-pays tab."""
