"""Ways to falsify a good trace, one file per kind of claim; importing them fills `FALSIFICATIONS`."""

from tests.trace.falsifications import drafts, lanes, noise, probabilities, sampling, terms, texts, verdicts
from tests.trace.falsifications.falsifying import BASES, FALSIFICATIONS, Falsification

__all__ = ["BASES", "FALSIFICATIONS", "Falsification"]
__all__ += ["drafts", "lanes", "noise", "probabilities", "sampling", "terms", "texts", "verdicts"]
