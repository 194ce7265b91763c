"""Captions of pictures: compose a scene, run on it, and what was measured on held-out scenes."""
