"""Scenes of a few coloured shapes, their pictures and their captions: pure data, no torch and no model.

Made for one question (Gagrani et al. 2404.08856): which tokens of a caption can be drafted without seeing the picture?
"""
