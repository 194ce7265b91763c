"""Faults of the sampling transform, the residual, and the uniform draws."""

from tests.mutants.faults.fault import SAMPLING, Edits, edit

DRAWS = "tests/core/test_draws.py"

FAULTS: Edits = {
    ("specviz/core/draws.py", SAMPLING): {
        "temperature multiplies the logits": edit("else logits / temperature)", "else logits * temperature)"),
    },
    ("specviz/core/draws.py", DRAWS): {
        "compiled draws: two chains write into the same room": edit("= spare[1:]", "= spare"),
        "compiled draws: where nothing is left, nothing is drawn from": edit(
            "return (left, mass) if mass > 0.0 else (target, 0.0)", "return left, mass"
        ),
    },
    ("specviz/core/draws.c", DRAWS): {
        "compiled draws: where rounding leaves no token the last one is drawn, mass or not": edit(
            "  while (last > 0 && !(row[last] > 0.0f)) last--;\n", ""
        ),
        "compiled draws: the largest logit is not looked for in the first lane": edit("top = most[0]", "top = most[1]"),
        "compiled draws: of equal logits the last is taken": edit(
            "if (most > top) top = most, first = t;", "if (most >= top) top = most, first = t;"
        ),
        "compiled draws: every step of a chain draws with the same number": edit("how->first + step)", "how->first)"),
        "compiled draws: the probability kept is another token's": edit("0.0f : probs[token]", "0.0f : probs[0]"),
    },
    ("specviz/core/clock.py", "tests/core/test_clock.py"): {
        "clock: of a phase that comes again the last time counts": edit(
            "self.seconds[phase] += self._read - before", "self.seconds[phase] = self._read - before"
        ),
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
            "_most_probable_of(logits, sampling.top_k)", "_most_probable_of(logits, sampling.top_k + 1)"
        ),
        "top-k keeps any of equal tokens at its edge": edit(
            "if logits.device.type in ON_CPU and not bool((edge == after).any()):", "if logits.device.type in ON_CPU:"
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
