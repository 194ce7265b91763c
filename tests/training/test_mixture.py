"""Windows begin at document starts, halves keep their shares, and embeddings follow their tokens."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from specviz.corpus.standard_library import Corpus
from specviz.errors import TrainingError
from specviz.theory.rows import repetition
from specviz.training import pair_figures, publication, stages
from specviz.training.mixture import DocumentWindows, Mixture, code_blocks, load_packed, pack_with_starts, window_starts
from specviz.training.optimiser import learning_rate_factor
from specviz.training.options import TrainOptions
from specviz.training.stages import carry_embeddings, old_pieces
from specviz.training.target import model_config, new_model
from specviz.training.windows import train_tokenizer


@pytest.fixture
def english_options(mini_options: TrainOptions, mini_corpus: Corpus) -> TrainOptions:
    """A prepared work folder with both halves."""
    options = dataclasses.replace(mini_options, english=0.5, english_characters=20_000, grow_at=0.0, figure_cases=4)
    stages.prepare(options, mini_corpus)
    return options


def test_a_window_begins_where_a_document_begins() -> None:
    starts = np.array([0, 3, 7, 9, 14])
    assert window_starts(starts, n_tokens=20, length=5).tolist() == [0, 3, 7, 9, 14]
    assert window_starts(starts, n_tokens=20, length=8).tolist() == [0, 7]
    assert window_starts(starts, n_tokens=20, length=8, first=1).tolist() == [3, 9]
    assert window_starts(starts, n_tokens=20, length=8, again=True).tolist() == [0, 3, 7, 9]


def test_a_window_shows_the_end_of_text_token_before_its_document_as_a_prompt_does() -> None:
    stream = np.array([5, 5, 0, 6, 6, 6, 0, 7, 0, 8, 8, 8, 8, 0])
    windows = DocumentWindows((stream, np.array([0, 3, 7, 9])), length=4, seed=0)
    shown = sorted(windows.window(index).tolist() for index in range(len(windows.window_starts)))
    assert windows.window_starts.tolist() == [0, 3, 7, 9]
    assert shown == [[0, 6, 6, 6, 0], [0, 7, 0, 8, 8], [0, 8, 8, 8, 8], [5, 5, 0, 6, 6]]


def test_short_documents_begin_windows_again_as_often_as_long_ones() -> None:
    """Else a prompt of their kind would stand where training seldom showed one: right behind the first token."""
    lengths = np.random.default_rng(0).choice([2, 18], 4000)
    starts = np.concatenate([[0], lengths.cumsum()[:-1]])

    def short(again: bool) -> float:
        found = window_starts(starts, int(lengths.sum()), length=60, again=again)
        return float((lengths[np.searchsorted(starts, found)] == 2).mean())

    assert 0.4 < short(again=True) < 0.6
    assert short(again=False) < 0.2


def test_only_a_document_longer_than_a_window_goes_on_inside() -> None:
    assert window_starts(np.array([0, 10]), n_tokens=20, length=4).tolist() == [0, 4, 8, 10, 14]


def test_every_window_of_short_documents_starts_with_one(english_options: TrainOptions) -> None:
    stream, starts = load_packed(english_options.work_dir / "train_english.npy")
    ends = np.flatnonzero(np.asarray(stream) == 0)
    assert starts[1:].tolist() == (ends[:-1] + 1).tolist()
    long_window = int(np.diff(starts).max()) + 1
    assert set(window_starts(starts, len(stream), long_window).tolist()) <= set(starts.tolist())


def test_blocks_of_a_module_are_the_module() -> None:
    text = "import a\n\n\ndef f():\n    x = 1\n\n    return x\n\n\nclass B:\n    y = 2\n"
    assert code_blocks(text) == ["import a\n\n\n", "def f():\n    x = 1\n\n    return x\n\n\n", "class B:\n    y = 2\n"]


def test_packing_block_by_block_gives_the_tokens_of_the_whole(mini_corpus: Corpus) -> None:
    text = mini_corpus.train[0].text
    tokenizer = train_tokenizer([text], 320)
    blocks, _ = pack_with_starts([code_blocks(text)], tokenizer)
    whole, starts = pack_with_starts([[text]], tokenizer)
    assert blocks.tolist() == whole.tolist()
    assert starts.tolist() == [0]
    assert whole[-1] == tokenizer.eos_token_id


def test_rows_keep_their_shares_and_no_window_is_left_out() -> None:
    english = DocumentWindows((np.arange(0, 400, dtype=np.uint16), np.arange(0, 400, 4)), 8, seed=0)
    python = DocumentWindows((np.arange(1000, 1400, dtype=np.uint16), np.arange(0, 400, 4)), 8, seed=0)
    mixture = Mixture(english, python, share=0.25, batch_size=4)
    rows = torch.cat([mixture.batch(step).ids for step in range(len(english.window_starts))])
    assert ((rows < 1000).all(1).sum(), (rows >= 1000).all(1).sum()) == (len(rows) // 4, 3 * len(rows) // 4)
    seen = {int(row[0]) for row in rows if row[0] < 1000}
    assert seen == {max(start - 1, 0) for start in english.window_starts.tolist()}
    assert torch.equal(mixture.batch(3).ids, mixture.batch(3).ids)
    with pytest.raises(TrainingError, match="--english"):
        Mixture(english, python, share=1.0, batch_size=4)


def test_a_new_token_starts_as_the_mean_of_its_old_pieces() -> None:
    old = train_tokenizer(["abab cdcd"] * 50, 300)
    new = train_tokenizer(["abc abc abc"] * 50, 300)
    model = new_model(model_config(2, 32, 2, 48, 300), seed=0)
    before = model.model.embed_tokens.weight.detach().clone()
    assert carry_embeddings(model, old, new) > 0
    token = "abc"
    pieces = [old.convert_tokens_to_ids(piece) for piece in ("ab", "c")]
    assert old_pieces(token, old) == pieces
    row = model.model.embed_tokens.weight[new.convert_tokens_to_ids(token)]
    torch.testing.assert_close(row, before[pieces].mean(0))
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_the_same_tokenizer_leaves_the_weights_as_they_are() -> None:
    tokenizer = train_tokenizer(["abab cdcd"] * 50, 300)
    model = new_model(model_config(2, 32, 2, 48, 300), seed=0)
    before = model.model.embed_tokens.weight.detach().clone()
    assert carry_embeddings(model, tokenizer, tokenizer) == 0
    assert torch.equal(model.model.embed_tokens.weight[: len(tokenizer)], before[: len(tokenizer)])


def test_the_rate_stays_until_the_decay_and_ends_at_zero() -> None:
    rates = [learning_rate_factor(used, 1000, 20, decay=0.2) for used in (0.0, 0.5, 0.8, 0.9, 1.0)]
    assert rates == pytest.approx([1.0, 1.0, 1.0, 0.5, 0.0])


def test_repetition_counts_the_ngrams_that_came_before() -> None:
    assert repetition([1, 2, 3, 4, 5]) == 0
    assert repetition([7] * 10) == pytest.approx(6 / 7)
    assert repetition([1, 2, 3]) == 0


def test_a_target_is_trained_measured_kept_and_trained_on(
    english_options: TrainOptions, mini_corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_figures, "MOST_TOKENS", 16)
    stages.train_target(english_options, lambda row: None)
    rows: list = []
    publication.figures(english_options, rows.append)
    found = json.loads((english_options.work_dir / f"figures-{128 * 12}.json").read_text(encoding="utf-8"))
    assert {
        "facts",
        "name_carried",
        "ends_by_itself",
        "python_bits_per_byte_sampled",
        "english_bits_per_byte_sampled",
    } <= set(found)
    assert found["cases"]["facts"] == 4
    publication.keep(english_options, rows.append)
    kept = english_options.out_dir / "target"
    facts = json.loads((kept / "training.json").read_text(encoding="utf-8"))
    assert facts["tokens"] == 128 * 12
    assert facts["english"]["seed"] == 0
    assert "facts" in facts["figures"]
    again = dataclasses.replace(
        english_options, work_dir=tmp_path / "next", start=str(kept), tokenizer=str(kept), english_seed=1, tokens=256
    )
    stages.prepare(again, mini_corpus)
    loop = stages.target_loop(again)
    exported = torch.load(english_options.work_dir / "target" / "checkpoint.pt", weights_only=True)["model"]
    name = "model.embed_tokens.weight"
    assert torch.equal(loop.model.state_dict()[name], exported[name].bfloat16().float())
