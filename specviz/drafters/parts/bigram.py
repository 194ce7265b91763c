"""A low-rank table of which token follows which, added to guesses that do not know of each other. Registers nothing.

Shapes: V vocabulary, R rank, γ places, k tokens kept at each.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from specviz.drafters.parts.lattice import Lattice


class Bigram(nn.Module):
    """before[a] · after[b], added to the logit of token b after token a: 2 V R numbers instead of V². Zero at first."""

    def __init__(self, vocabulary: int, rank: int) -> None:
        super().__init__()
        self.before = nn.Parameter(torch.randn(vocabulary, rank) / rank**0.5)
        self.after = nn.Parameter(torch.zeros(vocabulary, rank))

    def forward(self, tokens: Tensor) -> Tensor:
        """What tokens [...] add to the logits of what follows them [..., V]."""
        return self.before[tokens] @ self.after.T

    def lattice(self, logits: Tensor, root: int, width: int, steps: bool = True) -> Lattice:
        """The `width` likeliest tokens at each place by logits [γ, V] alone, and the probabilities of the steps between
        them in the whole vocabulary. Without `steps` places are independent."""
        tokens = logits.topk(min(width, logits.shape[-1]), dim=-1).indices
        before = torch.cat([tokens.new_full((1, tokens.shape[1]), root), tokens[:-1]])
        if steps:
            scores = (logits[:, None] + self(before)).log_softmax(-1)
        else:
            scores = logits[:, None].log_softmax(-1).expand(-1, tokens.shape[1], -1)
        kept = scores.gather(-1, tokens[:, None].expand(-1, tokens.shape[1], -1)).double().cpu().numpy()
        return Lattice(tokens.cpu().numpy(), kept[0, 0], kept[1:])
