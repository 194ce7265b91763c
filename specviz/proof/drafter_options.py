"""Small option sets per drafter, shared by the proof and the contracts; the defaults for a drafter not named here."""

from __future__ import annotations

OPTION_SETS: dict[str, tuple[dict[str, object], ...]] = {
    "model": (
        {"gamma": 2},
        {"gamma": 3},
        {"gamma": 2, "draw": "without_replacement"},
        {"gamma": 3, "draw": "top_k"},
        {"branching": (2, 1)},
        {"branching": (2, 1), "draw": "iid"},
        {"branching": (3, 1)},
        {"branching": (2, 2)},
        {"branching": (2, 2), "draw": "top_k"},
    ),
    "cross_vocabulary": (
        {"gamma": 2},
        {"branching": (2, 1)},
        {"branching": (2,), "draw": "iid"},
        {"branching": (2, 1), "draw": "top_k"},
    ),
    "amusd": (
        {"drafts_per_pass": 2, "ahead": 3, "widest": 2},
        {"drafts_per_pass": 1, "ahead": 2},
    ),
    "pearl": ({"in_turn": True, "gamma": 2}, {"in_turn": True, "gamma": 3}),
    "jacobi": (
        {"block": 2},
        {"block": 2, "mode": "gauss_seidel"},
        {"block": 1, "start": "random"},
    ),
    "lookahead": (
        {"window": 2, "ngram": 2, "guesses": 2, "prompt_pool": True},  # or texts end before the window gives a guess
        {"window": 1, "ngram": 3, "guesses": 1, "prompt_pool": True},
    ),
    "cross_kv": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "branching": (2, 1)},
        {"weights": "untrained", "preset": "glide", "branching": (2, 1), "draw": "iid"},
        {"weights": "untrained", "preset": "tandem", "gamma": 2},
        {"weights": "untrained", "preset": "tandem", "branching": (2, 1), "draw": "top_k"},
    ),
    "eagle": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "gamma": 3},
        {"weights": "untrained", "branching": (2, 1)},
        {"weights": "untrained", "branching": (2, 1), "draw": "iid"},
        {"weights": "untrained", "branching": (2, 1), "draw": "top_k"},
    ),
    "fspad": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "branching": (2, 1)},
    ),
    "early_exit": (
        {"exit_layer": 1, "gamma": 2},
        {"exit_layer": 1, "gamma": 3},
        {"exit_layer": 1, "branching": (2, 2)},
        {"exit_layer": 1, "branching": (2, 1), "draw": "iid"},
    ),
    "hydra": (
        {"weights": "untrained", "nodes": 4},
        {"weights": "untrained", "nodes": 0, "gamma": 2},
        {"weights": "untrained", "nodes": 0, "gamma": 2, "draw": "without_replacement"},
    ),
    "kangaroo": (
        {"weights": "untrained", "exit_layer": 1, "gamma": 2},
        {"weights": "untrained", "exit_layer": 1, "branching": (2, 1), "threshold": 0.0},
    ),
    "markov": (
        {"weights": "untrained", "nodes": 4, "width": 3},
        {"weights": "untrained", "nodes": 0, "gamma": 2},
    ),
    "masked_block": (
        {"weights": "untrained", "nodes": 4, "width": 3, "passes": 1},
        {"weights": "untrained", "nodes": 0, "gamma": 2, "passes": 1},
        {"weights": "untrained", "nodes": 3, "lattice": False},
    ),
    "medusa": (
        {"weights": "untrained", "nodes": 4},
        {"weights": "untrained", "nodes": 0, "gamma": 2},
        {"weights": "untrained", "nodes": 0, "gamma": 3, "draw": "top_k"},
    ),
    "self_speculative": (
        {"skip_mlp": (1,), "gamma": 2},
        {"skip_attention": (1, 2), "skip_mlp": (2,), "branching": (2, 1)},
    ),
    "small_model": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "branching": (2, 1)},
    ),
    "random": ({"gamma": 2}, {"gamma": 1}),
    "ngram": ({"gamma": 2}, {"gamma": 3, "min_ngram": 2}, {"gamma": 2, "continuations": 2}),
    "merged": (
        {"gamma": 2, "branching": ()},
        {"branching": (1, 1), "draw": "without_replacement"},
        {"branching": (2,), "draw": "iid"},
        {"branching": (2,)},
        {"branching": (2, 1), "draw": "top_k"},
        {"branching": (1,), "others": "drafter-weak,drafter"},
    ),
    "rasd": (
        {"branching": (2, 1), "max_nodes": 5, "likely": 2, "snippet": 2},
        {"branching": (2,), "draw": "iid", "max_nodes": 5, "likely": 3, "look_in": "text"},
        {"branching": (2, 1), "draw": "top_k", "max_nodes": 5, "look_in": "datastore"},
    ),
    "rest": ({"max_nodes": 3, "max_match": 2, "snippet": 2}, {"max_nodes": 4, "min_match": 1, "places": 3}),
    "suffix": (
        {"max_nodes": 3, "factor": 2.0},
        {"max_nodes": 2, "tree": False},
        {"max_nodes": 2, "fallback": "model", "gamma": 2, "threshold": 0.9},
    ),
    "token_recycling": ({"nodes": 2}, {"nodes": 9, "followers": 2, "fill": False}, {"nodes": 80}),
    "vocabtrim": (
        {"head_size": 2, "calibration": "ids", "gamma": 2},
        {"head_size": 2, "calibration": "ids", "branching": (2, 1)},
        {"head_size": 2, "calibration": "ids", "branching": (2,), "draw": "top_k"},
    ),
}


def option_sets(drafter: str) -> tuple[dict[str, object], ...]:
    return OPTION_SETS.get(drafter, ({},))
