"""A trace without SpecViz: what a greedy engine did, round by round, as a file that `specviz check` calls sound.

`python examples/minimal_trace.py run.json` writes one of a toy. Take `write` and `summary_of` along: the guide,
docs/minimal_trace.md, says what each field is, and what to add for q, for sampling and for times.
"""

# ruff: noqa: C408
# fmt: off
import base64
import json
import pathlib
import sys

MACHINE = ("device", "dtype", "processor", "python", "torch", "transformers", "system")


def write(path, words, prompt, rounds, eos=()):
    """words: token → bytes; prompt: ids; rounds: (candidates, the target's tokens after the root and after each)."""
    text, told, count = list(prompt), [], len(words)
    point = [dict(tokens=[token], probs=[1.0], rest=0.0) for token in range(count)]  # greedy: all of p on one token
    for drafted, own in rounds:
        chain, base, rows = [text[-1], *drafted], len(text), len(drafted) + 1
        kept = next((i for i, token in enumerate(drafted) if token != own[i]), len(drafted))
        tried = min(kept + 1, len(drafted))
        origin = "target" if not drafted else "bonus" if kept == len(drafted) else "correction"
        fates = ["root"] + ["accepted"] * kept + ["rejected"] * (tried - kept) + ["unreached"] * (rows - 1 - tried)
        nodes = [dict(id=i, parent=i - 1, depth=i, token=chain[i], kind="point_mass", fate=fates[i], source="mine",
                      draft_prob=1.0, target_prob=float(chain[i] == own[i - 1]), target=point[own[i]],
                      draft=point[chain[i + 1]] if i + 1 < rows else None) for i in range(rows)]
        nodes[0] |= dict(kind="root", source="root", draft_prob=None, target_prob=None)
        trials = [dict(node=i, target_prob=float(i <= kept), draft_prob=1.0, threshold=float(i <= kept), u=None,
                       accepted=i <= kept) for i in range(1, tried + 1)]
        new = [dict(token=chain[i], origin="draft", node=i) for i in range(1, kept + 1)]
        new.append(dict(token=own[kept], origin=origin, node=None))
        judged = dict(rule="greedy", trials=trials, path=list(range(1, kept + 1)), final_node=kept, residual=None,
                      residual_mass=None, token=own[kept], origin=origin, u=None, seconds=0.0)
        committed = dict(tokens=new, trimmed=None, trimmed_tokens=0, cache_before=base - 1, cache_kept=base + kept,
                         cache_dropped=rows - 1 - kept, seconds=0.0)
        scored = dict(target_pass=dict(rows=rows, cached_rows=base - 1, seconds=0.0), seconds=0.0)
        told.append(dict(index=len(told), base_length=base, start_s=0.0, nodes=nodes, scored=scored, judged=judged,
                         drafted=dict(passes=[], seconds=0.0), committed=committed))
        text += [one["token"] for one in new]
    output, unknown = text[len(prompt):], dict.fromkeys(MACHINE, "unknown")
    model = dict(name="mine", architecture="mine", adapter="mine", parameters=0, layers=0, hidden_size=0,
                 vocab_size=count, context_length=4096, dtype="unknown", weights_sha256="")
    started = dict(run_id="1", created="2026-01-01T00:00:00Z", producer="my engine 1", source="recorded", target=model,
                   drafter=dict(name="mine", options={}, lossless=True), prompt_ids=list(prompt), eos_ids=list(eos),
                   verifier=dict(name="greedy", options={}, lossless=True), seed=0, max_new_tokens=len(output), stop=[],
                   sampling=dict(temperature=0.0, top_k=0, top_p=1.0), machine=dict(unknown, threads=0, cores=0),
                   tokenizer=dict(name="mine", vocab_size=count, sha256="", special_ids=[]),
                   prompt_text=b"".join(words[token] for token in prompt).decode())
    finished = dict(reason="eos" if output[-1] in eos else "length", message=None, output_ids=output, prefill_s=0.0,
                    text=b"".join(words[token] for token in output).decode(), decode_s=0.0, record_s=0.0)
    vocab = {token: dict(bytes=base64.b64encode(word).decode(), text=word.decode()) for token, word in enumerate(words)}
    trace = dict(format="specviz-trace", version="1.0", started=started, vocab=vocab, rounds=told, finished=finished)
    pathlib.Path(path).write_text(json.dumps(trace | dict(summary=summary_of(told, output))))


def summary_of(rounds, output):
    """The counts that the file states about itself, in vLLM's words (docs/other_engines.md)."""
    counts = [(len(one["nodes"]) - 1, len(one["judged"]["path"])) for one in rounds if len(one["nodes"]) > 1]
    drafted, accepted, deepest = sum(d for d, _ in counts), sum(a for _, a in counts), max([0, *(d for d, _ in counts)])
    return dict(
        num_spec_steps=len(counts), num_draft_tokens=drafted, num_accepted_draft_tokens=accepted,
        draft_acceptance_rate=accepted / drafted if counts else None,
        mean_acceptance_length=1 + accepted / len(counts) if counts else None,
        acceptance_histogram=[sum(a == j for _, a in counts) for j in range(deepest + 1)] if counts else [],
        acceptance_by_depth=[[sum(d >= k for d, _ in counts), sum(a >= k for _, a in counts)]
                             for k in range(1, deepest + 1)],
        num_target_passes=len(rounds), num_output_tokens=len(output), tokens_per_second=None,
    )


def toy(prompt, new, gamma=3):
    """Two tables in place of models: what follows a token, as the target has it and as the drafter guesses."""
    target, drafter, rounds, text = [1, 2, 3, 4, 5, 0], [1, 2, 3, 0, 5, 2], [], list(prompt)
    while len(text) < len(prompt) + new:
        chain = [text[-1]]
        while len(chain) <= min(gamma, len(prompt) + new - len(text) - 1):  # the round's last token is committed too
            chain.append(drafter[chain[-1]])
        own = [target[token] for token in chain]
        rounds.append((chain[1:], own))
        text += own[: 1 + next((i for i, token in enumerate(chain[1:]) if token != own[i]), len(chain) - 1)]
    return rounds


if __name__ == "__main__":
    write(sys.argv[1], [b"the ", b"cat ", b"sat ", b"on ", b"a ", b"mat "], [0, 1], toy([0, 1], 12))
