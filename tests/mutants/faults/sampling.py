"""Faults of the sampling transform, the residual, and the uniform draws."""

from tests.mutants.faults.fault import SAMPLING, Edits, edit

FAULTS: Edits = {
    ("specviz/core/draws.py", SAMPLING): {
        "temperature multiplies the logits": edit("else logits / temperature)", "else logits * temperature)"),
    },
    ("specviz/core/sampling.py", SAMPLING): {
        "nucleus not normalised below a mass of one half": edit(
            "probs = probs / probs.sum(-1, keepdim=True)", "probs = probs / probs.sum(-1, keepdim=True).clamp(min=0.5)"
        ),
        "nucleus keeps one token more than it needs": edit(
            "size = int((before < top_p).sum())", "size = int((before <= top_p).sum())"
        ),
        "a softmax is shifted by the last logit instead of the largest": edit("row - row.max()", "row - row[-1]"),
        "top-k keeps one more": edit(
            "kept = logits.topk(sampling.top_k, dim=-1)", "kept = logits.topk(sampling.top_k + 1, dim=-1)"
        ),
        "residual not divided by its mass": edit("return left.div_(mass), mass", "return left, mass"),
        "only the first of several drawn tokens taken out": edit(
            "    for token in tokens:\n        left[token] = 0.0",
            "    for token in tokens[:1]:\n        left[token] = 0.0",
        ),
    },
    ("specviz/core/randomness.py", SAMPLING): {
        "accepts at equality": edit("u < probability, u)", "u <= probability, u)"),
        "picks from the block before": edit(
            "before = cumulative[block - 1] if block else 0.0", "before = cumulative[block - 2] if block > 1 else 0.0"
        ),
    },
    ("specviz/trace/uniform_draws.py", SAMPLING): {
        "uniform draws share their index": edit("_mix(state ^ (index & _MASK))", "_mix(state)")
    },
}
