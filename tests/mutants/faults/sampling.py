"""Faults of the sampling transform, the residual, and the uniform draws."""

from __future__ import annotations

from tests.mutants.faults.fault import SAMPLING, Fault

FAULTS: tuple[Fault, ...] = (
    Fault(
        "nucleus not normalised below a mass of one half",
        "specviz/core/sampling.py",
        "probs = probs / probs.sum(-1, keepdim=True)",
        "probs = probs / probs.sum(-1, keepdim=True).clamp(min=0.5)",
        (SAMPLING,),
    ),
    Fault(
        "nucleus keeps one token more than it needs",
        "specviz/core/sampling.py",
        "size = int((before < top_p).sum())",
        "size = int((before <= top_p).sum())",
        (SAMPLING,),
    ),
    Fault(
        "temperature multiplies the logits",
        "specviz/core/sampling.py",
        "logits = logits / sampling.temperature",
        "logits = logits * sampling.temperature",
        (SAMPLING,),
    ),
    Fault(
        "top-k keeps one more",
        "specviz/core/sampling.py",
        "kept = logits.topk(sampling.top_k, dim=-1)",
        "kept = logits.topk(sampling.top_k + 1, dim=-1)",
        (SAMPLING,),
    ),
    Fault(
        "residual not divided by its mass",
        "specviz/core/sampling.py",
        "return left.div_(mass), mass",
        "return left, mass",
        (SAMPLING,),
    ),
    Fault(
        "only the first of several drawn tokens taken out",
        "specviz/core/sampling.py",
        "    for token in tokens:\n        left[token] = 0.0",
        "    for token in tokens[:1]:\n        left[token] = 0.0",
        (SAMPLING,),
    ),
    Fault(
        "accepts at equality",
        "specviz/core/randomness.py",
        "u < probability, u)",
        "u <= probability, u)",
        (SAMPLING,),
    ),
    Fault(
        "picks from the block before",
        "specviz/core/randomness.py",
        "before = cumulative[block - 1] if block else 0.0",
        "before = cumulative[block - 2] if block > 1 else 0.0",
        (SAMPLING,),
    ),
    Fault(
        "uniform draws share their index",
        "specviz/trace/uniform_draws.py",
        "state = _mix(state ^ (index & _MASK))",
        "state = _mix(state)",
        (SAMPLING,),
    ),
)
