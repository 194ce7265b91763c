"""The captioner and its drafters: small models trained on generated scenes and their captions."""
