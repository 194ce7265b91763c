"""Teaches a trained drafter to agree with its target: losses, texts, the exact measure, one run and the study."""
