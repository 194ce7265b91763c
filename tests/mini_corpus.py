"""A corpus of a few kilobytes, so that tests of what learns from texts need seconds and no network."""

from specviz.corpus.standard_library import Corpus, Document


def mini_corpus() -> Corpus:
    """Twelve training and two held-out documents of repeating code."""
    train = tuple(
        Document(
            f"module_{i}.py", "code", "".join(f"def name_{i}_{j}(x):\n    return x + {j}\n\n\n" for j in range(30))
        )
        for i in range(12)
    )
    held_out = tuple(
        Document(f"held_{i}.py", "code", "".join(f"def held_{j}(x):\n    return x - {j}\n\n\n" for j in range(40)))
        for i in range(2)
    )
    return Corpus(train, held_out, seed=0)
