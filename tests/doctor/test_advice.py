"""Advice from ratios written by hand."""

import pytest

from specviz.doctor.advice import Candidate, advise


def candidate(name: str, *ratios: float, **how: object) -> Candidate:
    return Candidate(name, name, {f"p{index}": ratio for index, ratio in enumerate(ratios)}, **how)


def test_the_fastest_in_the_median_is_advised_and_sure_where_it_is_ahead_on_three_of_four_prompts() -> None:
    fast, slow = candidate("ngram", *[2.0] * 6, 0.9, 2.0), candidate("suffix", *[1.5] * 8)
    advice = advise([slow, fast])
    assert (advice.best, advice.sure) == (fast, "high")
    assert "2.00 times plain decoding in the median, ahead of it on 88% of 8 prompts; suffix" in advice.why


@pytest.mark.parametrize(
    ("ratios", "sure"), [([2.0] * 7, "middle"), ([2.0] * 3, "low"), ([2.0] * 5 + [0.5] * 3, "low"), ([2.0] * 8, "high")]
)
def test_few_prompts_and_mixed_ones_lower_the_confidence(ratios: list[float], sure: str) -> None:
    assert advise([candidate("ngram", *ratios)]).sure == sure


def test_one_that_is_close_to_the_next_is_not_sure_and_one_that_is_close_to_plain_decoding_less() -> None:
    second = candidate("suffix", *[1.9] * 8)
    close = [candidate("ngram", *[2.0] * 5, *[slow] * 3) for slow in (1.5, 1.0)]
    assert [advise([first, second]).sure for first in close] == ["middle", "low"]


def test_a_speedup_above_the_tokens_per_pass_is_not_believed() -> None:
    busy, sound = (advise([candidate("ngram", *[2.0] * 8, tokens_per_pass=tokens)]) for tokens in (1.5, 2.0))
    assert (busy.sure, "more than its tokens per pass explain" in busy.why) == ("low", True)
    assert (sound.sure, "explain" in sound.why) == ("high", False)


def test_nothing_is_advised_that_is_not_worth_it() -> None:
    advice = advise([candidate("ngram", *[1.04] * 8), candidate("suffix", *[0.8] * 8)])
    assert (advice.best, advice.sure, advice.flags) == (None, "middle", {})
    assert advise([candidate("ngram", *[0.8] * 8)]).sure == "high"


def test_flags_name_the_length_and_the_model_in_the_engines_words() -> None:
    flags = advise([candidate("model", *[2.0] * 8, model="small", gamma=5)]).flags
    assert flags == {
        "vLLM": '--speculative-config \'{"method": "draft_model", "model": "small", "num_speculative_tokens": 5}\'',
        "SGLang": "--speculative-algorithm STANDALONE --speculative-draft-model-path small --speculative-num-steps 5 "
        "--speculative-eagle-topk 1 --speculative-num-draft-tokens 6",
        "llama.cpp": "--spec-type draft-simple --model-draft small.gguf --spec-draft-n-max 5",
    }


def test_a_models_name_is_quoted_for_the_shell() -> None:
    flags = advise([candidate("model", *[2.0] * 8, model="a; b")]).flags
    assert "--model-draft 'a; b.gguf' " in flags["llama.cpp"]


def test_a_drafter_that_no_engine_has_comes_without_flags_and_with_a_sentence_for_each_engine() -> None:
    advice = advise([candidate("token_recycling", *[2.0] * 8)])
    assert (advice.flags, list(advice.cannot)) == ({}, ["vLLM", "SGLang", "llama.cpp"])


def test_where_no_engine_has_the_best_the_fastest_that_one_has_is_named_beside_it() -> None:
    best, slow, engines = (
        candidate("token_recycling", *[2.0] * 8),
        candidate("suffix", *[1.2] * 8),
        candidate("ngram", *[1.4] * 8),
    )
    advice = advise([best, slow, engines])
    assert (advice.best, advice.instead) == (best, engines)
    assert list(advice.flags) == ["vLLM", "SGLang", "llama.cpp"]
    assert advise([best, candidate("ngram", *[1.04] * 8)]).instead is None
    assert advise([engines, slow]).instead is None


def test_nobody_measured_is_an_error() -> None:
    with pytest.raises(ValueError, match="nobody was measured"):
        advise([])
