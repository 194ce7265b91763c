"""Trained weights under a new tokenizer: rows of the embedding follow their tokens.

Place in the flow: used where a run starts from a model whose tokenizer is another one.
"""

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast


def old_pieces(token: str, old: PreTrainedTokenizerFast) -> list[int]:
    """The old tokens that spell one new token; both spell in the byte-level alphabet, so any token can be spelt."""
    known = old.get_vocab()
    if token in known:
        return [known[token]]
    return [piece.id for piece in old.backend_tokenizer.model.tokenize(token)]


@torch.no_grad()
def carry_embeddings(model: LlamaForCausalLM, old: PreTrainedTokenizerFast, new: PreTrainedTokenizerFast) -> int:
    """Gives each new token its old row, or the mean of its old pieces' rows; returns how many rows are means.

    The head is tied to the embedding, so it follows. Both tokenizers must have as many tokens as the model has rows.
    """
    rows = model.model.embed_tokens.weight
    before, means = rows.clone(), 0
    for token, index in new.get_vocab().items():
        pieces = old_pieces(token, old)
        rows[index] = before[pieces].mean(0)
        means += len(pieces) > 1
    return means
