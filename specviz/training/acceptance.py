"""Greedy acceptance of a drafter, measured exactly and cheaply on the bundled prompts.

Place in the flow: the last check of a training run; its numbers go into the model card. At temperature 0 the emitted
text is the target's own greedy text whatever the drafter says, so the rounds can be replayed on that text.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.lm.hub.model import cache_argument, returned_cache

DRAFT_LENGTH = 4
NEW_TOKENS = 64


@dataclass(frozen=True)
class Acceptance:
    """Counts of one run: rounds, drafted tokens, accepted drafts."""

    rounds: int
    drafted: int
    accepted: int

    @property
    def rate(self) -> float:
        """Accepted drafts over drafted tokens, in [0, 1]."""
        return self.accepted / max(1, self.drafted)


@torch.inference_mode()
def greedy_text(model: LlamaForCausalLM, ids: torch.Tensor, new_tokens: int, end: int | None = None) -> torch.Tensor:
    """The model's own greedy continuation appended, up to and with the token `end`. ids [1, p] -> [1, p + most]."""
    takes_cache, cache, fresh = cache_argument(model), None, ids
    for _ in range(new_tokens):
        result = model(input_ids=fresh, use_cache=True, **{takes_cache: cache})
        cache, fresh = returned_cache(result), result.logits[:, -1:].argmax(-1)
        ids = torch.cat([ids, fresh], dim=1)
        if int(fresh) == end:
            break
    return ids


@torch.inference_mode()
def replay_rounds(
    drafter: LlamaForCausalLM, text: torch.Tensor, start: int, draft_length: int, end: int | None = None
) -> Acceptance:
    """Counts the rounds of greedy speculative decoding that emit text[start:]; text [1, n].

    Each round drafts `draft_length` tokens from the true prefix (fewer behind the token `end` and where the text is
    over), keeps those that equal the text, and the target adds one token of its own (Leviathan et al. 2023, algorithm 1
    at temperature 0).
    """
    place, rounds, drafted, accepted = start, 0, 0, 0
    while place < text.shape[1]:
        guess = greedy_text(drafter, text[:, :place], min(draft_length, text.shape[1] - place), end)[0, place:]
        same = (guess == text[0, place : place + len(guess)]).long()
        kept = int(same.cumprod(0).sum())
        rounds, drafted, accepted = rounds + 1, drafted + len(guess), accepted + kept
        place += kept + 1
    return Acceptance(rounds, drafted, accepted)


def acceptance_by_family(
    target: LlamaForCausalLM,
    drafters: Mapping[str, LlamaForCausalLM],
    tokenizer: PreTrainedTokenizerFast,
    prompts: Iterable[Mapping[str, Any]],
    draft_length: int = DRAFT_LENGTH,
) -> dict[str, dict[str, Acceptance]]:
    """Drafter → summed counts per prompt family; each prompt is continued to its end or by 64 tokens."""
    counts: dict[str, dict[str, list[Acceptance]]] = {name: defaultdict(list) for name in drafters}
    end = tokenizer.eos_token_id
    for prompt in prompts:
        ids = tokenizer(prompt["text"], return_tensors="pt")["input_ids"]
        text = greedy_text(target, ids, NEW_TOKENS, end)
        for name, drafter in drafters.items():
            counts[name][prompt["family"]].append(replay_rounds(drafter, text, ids.shape[1], draft_length, end))
    return {name: {family: _summed(runs) for family, runs in count.items()} for name, count in counts.items()}


def _summed(runs: Sequence[Acceptance]) -> Acceptance:
    return Acceptance(sum(r.rounds for r in runs), sum(r.drafted for r in runs), sum(r.accepted for r in runs))


def mean_rate(families: dict[str, Acceptance]) -> float:
    """Unweighted mean over families of the acceptance rate, in [0, 1]."""
    return sum(acceptance.rate for acceptance in families.values()) / max(1, len(families))
