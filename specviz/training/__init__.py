"""Training of the bundled models (`specviz train`): corpus, tokenizer, target, drafter, export.

Place in the flow: it stands beside the engine and writes the checkpoints that the engine loads.
It knows nothing about drafting methods, traces, the page or the benchmark.
"""
