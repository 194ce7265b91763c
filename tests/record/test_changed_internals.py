"""Where transformers works otherwise than it is watched: one sentence, and what generate returned is not lost."""

from typing import Any

import pytest
import torch
from transformers.generation import utils
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

import specviz
from specviz.errors import RecordError
from specviz.record.rounds import verdict_of
from specviz.record.watch import Observed
from tests.record.generating import generate


def test_a_generator_with_other_methods_is_refused(
    pair: tuple[Any, Any], tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PromptLookupCandidateGenerator, "update_candidate_strategy", lambda self, matches: None)
    told = "PromptLookupCandidateGenerator.update_candidate_strategy does not take input_ids and scores"
    with pytest.raises(RecordError, match=told), specviz.record.transformers(pair[0], tokenizer):
        generate(pair[0], prompt_lookup_num_tokens=3, max_new_tokens=6)


def test_another_rule_than_the_known_one_is_told_when_the_block_ends(
    pair: tuple[Any, Any], tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typical decoding in place of Algorithm 1, say: no uniform number is drawn."""

    def takes_all(candidates: Any, logits: Any, length: int, new_logits: Any, *_: Any, **__: Any) -> Any:
        last = new_logits[:, -1:].argmax(-1)
        return torch.cat([candidates[:, -length:], last], dim=-1), torch.tensor(length)

    monkeypatch.setattr(utils, "_speculative_sampling", takes_all)
    with (
        pytest.raises(RecordError, match="drew 0 uniform numbers for"),
        specviz.record.transformers(pair[0], tokenizer),
    ):
        ids = generate(pair[0], assistant_model=pair[1], do_sample=True, max_new_tokens=8)
    assert len(ids) > 8  # the run went on to its end all the same


def test_a_commit_that_does_not_follow_from_the_draws_is_refused() -> None:
    p = torch.tensor([[0.5, 0.5], [0.5, 0.5]])
    round = Observed([0], [1], uniforms=[0.9], drawn=[0], committed=[1, 0])
    assert verdict_of(round, p, p[:1], greedy=False).path == [1]  # min(1, 0.5 / 0.5) is above every u
    lower = torch.tensor([[0.9, 0.1], [0.5, 0.5]])
    with pytest.raises(RecordError, match=r"committed \[1, 0\], but what was seen of the round gives \[0\]"):
        verdict_of(round, lower, p[:1], greedy=False)


def test_a_last_token_that_generate_never_drew_is_drawn_beside_it() -> None:
    """Up to transformers 5.19 a whole accepted draft that ends the text ends the round without a token of its own."""
    p = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    round = Observed([0], [1], uniforms=[0.2], committed=[1])
    before = torch.get_rng_state()
    verdict = verdict_of(round, p, p[:1], greedy=False)
    assert (verdict.path, verdict.token, verdict.origin) == ([1], 2, "bonus")
    assert torch.equal(torch.get_rng_state(), before)
