"""The old name of `specviz.proof.exhaustive`, for tests that are moving."""

from specviz.proof.exhaustive import *  # noqa: F403
