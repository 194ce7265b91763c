"""How far two distributions agree, as five numbers of a whole vocabulary that no head of ten tokens can give back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """Target p against draft q for the token after a node, worked out on whole distributions while recording."""

    target_bits: float
    """entropy of p in bits"""
    draft_bits: float | None = None
    """entropy of q in bits; None: no distribution of the drafter is there to compare, such as below a point mass"""
    kl_bits: float | None = None
    """KL(p‖q) = sum of p log2(p/q), the direction that distillation of drafters minimises (DistillSpec, 2310.08461);
    None beside a `draft_bits`: infinite, q gives nothing to a token that p can say"""
    overlap: float | None = None
    """sum of min(p, q): the acceptance probability of one candidate drawn from q (Leviathan et al., 2211.17192, Theorem
    3.5), and 1 minus the total variation distance"""
