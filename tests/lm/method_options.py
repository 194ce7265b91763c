"""The old name of `specviz.proof.drafter_options`, for tests that are moving."""

from specviz.proof.drafter_options import *  # noqa: F403
