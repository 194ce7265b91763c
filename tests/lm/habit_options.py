"""The old name of `specviz.proof.habit_options`, for tests that are moving."""

from specviz.proof.habit_options import *  # noqa: F403
