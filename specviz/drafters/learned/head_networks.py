"""Networks of heads that look several places ahead: how they learn, how often each is right, what they say together.

    heads ─► k tokens at each of γ places ─► + first-order steps (bigram) ─► lattice ─► best prefixes, best path

Medusa's parallel heads do not know of each other; `markov` and `masked_block` put a lattice over such guesses, `hydra`
goes block by block, from more than the state. In a lattice order 0 prunes, order 1 decides, as in cascaded text
generation with Markov transformers (2006.01112); its probabilities are normalised step by step, so that a prefix's is
the product along it.

Shapes: B texts, T tokens each, H hidden size, V vocabulary, K heads, R ranks counted; in a lattice γ places, k tokens
at each; of a bigram's table R is the rank. Head k (from 0) at token t speaks of token t + 2 + k: the target itself
speaks of t + 1.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import bytes_of
from specviz.drafters.learned.module import Distance, DrafterModule, FeatureBatch, TargetParts, drawn
from specviz.lm.chains import PairTable
from specviz.lm.products import Linear, linear
from specviz.options import Options, option
from specviz.trace.events import Option
from specviz.trace.header import Exhibit, ExhibitRow

RANKS = 10
"""candidates per head whose accuracy is counted"""
FADE = 0.8
"""each further head counts so much less (2401.10774, §2.2.1)"""
NOTHING = -100
"""stands where a text is over; torch's cross entropy passes over it"""
PLACES = 512
"""of a batch that a step learns from"""
MEMORY = 0.99
"""share of the accuracies measured before that stays at each batch"""


class Accuracies(nn.Module):
    """How often the target's first choice is a head's first, second, … candidate. Kept in the weights' file, for the
    shape of a static tree follows from it."""

    def __init__(self, heads: int) -> None:
        """Where nothing was measured: a shape to begin with."""
        super().__init__()
        # Worked out where there are numbers: on the device of an outline torch imports its compiler for that.
        places, here = torch.arange(max(RANKS, heads), dtype=torch.float32, device="cpu"), torch.empty(())
        rates = 0.5 * 0.4 ** places[:RANKS] * 0.7 ** places[:heads, None]
        self.register_buffer("rates", rates.to(here.device))
        self.register_buffer("batches", torch.zeros(heads, dtype=torch.int64))

    rates: Tensor
    """[heads, RANKS]"""
    batches: Tensor
    """[heads], how many batches they were measured on"""

    @property
    def measured(self) -> bool:
        """Otherwise the rates are a guess, and not for showing."""
        return bool(self.batches.all())

    @torch.no_grad()
    def count(self, head: int, logits: Tensor, target_log_probs: Tensor) -> None:
        """Mix in a batch [..., V], before it is learnt from: no text is counted that was learnt already."""
        ranks = min(RANKS, logits.shape[-1])
        found = logits.topk(ranks, dim=-1).indices == target_log_probs.argmax(-1, keepdim=True)  # [..., R]
        share = max(1 - MEMORY, 1 / (1 + int(self.batches[head])))
        self.rates[head, :ranks].lerp_(found.flatten(0, -2).to(self.rates.dtype).mean(0), share)
        self.batches[head] += 1


@dataclass(frozen=True, slots=True)
class Places:
    """Where in a batch of texts heads are held to the target in one step: n places, each with its next tokens.

    Not all places of a batch: what a head costs is the read-out through the whole vocabulary, and the target's own
    distributions say so much about each place that more steps over fewer places learn faster."""

    text: Tensor
    """[n], which text"""
    token: Tensor
    """[n], the last token whose state is read"""
    heads: int

    @classmethod
    def of(cls, batch: FeatureBatch, heads: int, some: bool) -> Places:
        """Random ones for training (`some`), or all; only those where every head has something to speak of, of fewer
        heads in texts too short for all."""
        texts, length = batch.tokens.shape
        heads = min(heads, length - 1)
        room = length - heads
        device = batch.tokens.device
        chosen = (torch.randperm(texts * room)[:PLACES] if some else torch.arange(texts * room)).to(device)
        return cls(chosen // room, chosen % room, heads)  # [n]: a place's text, and its token in there

    def states(self, batch: FeatureBatch) -> Tensor:
        """[n, H] at the module's first depth."""
        return batch.features[self.text, self.token, 0]

    def tokens(self, batch: FeatureBatch, first: int, count: int) -> Tensor:
        """[n, count]: those from `first` places on."""
        steps = torch.arange(first, first + count, device=self.token.device)
        return batch.tokens[self.text[:, None], self.token[:, None] + steps]

    def following(self, batch: FeatureBatch) -> Tensor:
        """[n, heads]: the token of the text itself where each head speaks, NOTHING behind the text's last."""
        tokens = functional.pad(batch.tokens, (0, 1), value=NOTHING)
        steps = torch.arange(2, 2 + self.heads, device=self.token.device)
        return tokens[self.text[:, None], self.token[:, None] + steps]

    def wanted(self, batch: FeatureBatch, head: Tensor) -> Tensor:
        """[n, heads, V]: what the target says where each head speaks, as logarithms."""
        steps = torch.arange(1, 1 + self.heads, device=self.token.device)
        return batch.target_logits(head)[self.text[:, None], self.token[:, None] + steps].log_softmax(-1)


def held_to(
    logits: Sequence[Tensor], wanted: Tensor, distance: Distance, accuracies: Accuracies | None = None
) -> dict[str, Tensor]:
    """0.8^k times the distance of the target to head k, for the logits [n, V] of each head; wanted [n, heads, V]. With
    `accuracies` these are counted too."""
    terms = {}
    for k, own in enumerate(logits):
        if accuracies is not None:
            accuracies.count(k, own, wanted[:, k])
        terms[f"head_{k + 1}"] = FADE**k * distance(own, wanted[:, k])
    return terms


class ResidualBlock(nn.Module):
    """x + SiLU(A x + b), A and b zero at first, so that an untrained head says what the target's own head says."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = Linear(size, size)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, states: Tensor) -> Tensor:
        return states + functional.silu(self.linear(states))


@dataclass(frozen=True)
class HeadsShape(Options):
    """Size of the heads."""

    heads: int = option(4, help="how many places on they guess, one head each", minimum=1, maximum=16)
    layers: int = option(1, help="residual blocks per head, each with weights of its own", minimum=1, maximum=8)
    own_head: bool = option(
        False, help="each reads out through a matrix of its own; otherwise through a small one and the target's"
    )


HeadsShapeT = TypeVar("HeadsShapeT", bound=HeadsShape)


class ParallelHeads(DrafterModule[HeadsShapeT]):
    """The network (2401.10774, §2.1.1), its loss and what it drafts."""

    def __init__(self, target: TargetParts, options: HeadsShapeT) -> None:
        super().__init__(target, options)
        vocabulary, size = target.head.shape
        self.heads = nn.ModuleList()
        for _ in range(options.heads):
            blocks = [ResidualBlock(size) for _ in range(options.layers)]
            last = Linear(size, vocabulary if options.own_head else size, bias=False)
            with torch.no_grad():
                if options.own_head:
                    last.weight.copy_(target.head)
                else:
                    last.weight.zero_().fill_diagonal_(1.0)
            self.heads.append(nn.Sequential(*blocks, last))
        self.accuracies = Accuracies(options.heads)

    def depths(self) -> Sequence[int]:
        return (self.target.layers,)

    def logits(self, states: Tensor) -> Tensor:
        """What each head says [..., heads, V] from the target's last states [..., H]."""
        return self.whole(self.known_logits(states, self.read_head()))

    def known_logits(self, states: Tensor, head: Tensor) -> Tensor:
        """The same of the tokens that can be drafted [..., heads, V'], read out through `head` [V', H] (`read_head`,
        which a drafter keeps)."""
        # [..., heads, H], or [..., heads, V] where each reads out by itself
        cross_layers = torch.stack([head_of(states) for head_of in self.heads], -2)
        return cross_layers if self.options.own_head else linear(cross_layers, head)

    def weights_read(self) -> int:
        return bytes_of(self.heads) + (0 if self.options.own_head else self.head_bytes())

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """Held to the target on the tokens that can be drafted; how often a head is right is counted over all."""
        places = Places.of(batch, self.options.heads, self.training)
        # [n, H] → [n, heads, V'] → heads of [n, V']
        logits = self.known_logits(places.states(batch), self.read_head())[:, : places.heads].unbind(1)
        wanted = places.wanted(batch, self.head)  # [n, heads, V]
        if self.training:
            for k, said in enumerate(logits):
                self.accuracies.count(k, self.whole(said), wanted[:, k])
        return held_to(logits, self.known(wanted).log_softmax(-1), batch.distance)

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        logits = self.logits(batch.features[:, :, 0])  # [B, T, H] → [B, T, heads, V]
        places = batch.tokens.shape[1]
        return [logits[:, : places - 1 - k, k] for k in range(min(most, self.options.heads, places - 1))]


TokenPath = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lattice:
    """Natural logarithms of probabilities."""

    tokens: np.ndarray
    """[γ, k] ids, at each place the one that its head holds most probable first"""
    first: np.ndarray
    """[k], of the first place's tokens"""
    steps: np.ndarray
    """[γ - 1, k, k]: steps[i, a, b] of token b at place i + 1 after token a at place i"""

    @property
    def places(self) -> int:
        return len(self.tokens)

    def prefixes(self, most: int) -> list[TokenPath]:
        """The `most` most probable beginnings as token ids, each after its own beginning: exact, for a prefix is never
        more probable than what it begins with. Of equals the one whose tokens rank first."""
        waiting: list[tuple[float, TokenPath]] = [(-float(one), (rank,)) for rank, one in enumerate(self.first)]
        heapq.heapify(waiting)
        chosen = list[TokenPath]()
        while waiting and len(chosen) < most:
            cost, ranks = heapq.heappop(waiting)
            chosen.append(tuple(int(self.tokens[index, rank]) for index, rank in enumerate(ranks)))
            if len(ranks) < self.places:
                after = self.steps[len(ranks) - 1, ranks[-1]]
                for rank, one in enumerate(after):
                    heapq.heappush(waiting, (cost - float(one), (*ranks, rank)))
        return chosen

    def best_path(self) -> tuple[list[int], float]:
        """The most probable path through all places, as token ids, and the logarithm of its probability (Viterbi)."""
        score, back = self.first, list[np.ndarray]()
        for step in self.steps:
            through = score[:, None] + step  # [k before, k]
            back.append(through.argmax(0))  # [k]: from which token before each is reached best
            score = through.max(0)  # [k]
        rank = int(score.argmax())
        ranks = [rank]
        for came_from in reversed(back):
            ranks.append(int(came_from[ranks[-1]]))
        ranks.reverse()
        return [int(self.tokens[index, one]) for index, one in enumerate(ranks)], float(score.max())

    def max_marginals(self) -> np.ndarray:
        """[γ, k]: the logarithm of the most probable whole path's probability through each token, by which the cascade
        prunes."""
        ahead = [self.first]
        for step in self.steps:
            ahead.append((ahead[-1][:, None] + step).max(0))  # [k before, k] → [k]: the best way here
        behind = [np.zeros_like(self.first)]
        for step in reversed(self.steps):
            behind.append((step + behind[-1][None]).max(1))  # [k, k after] → [k]: the best way on
        through: np.ndarray = np.stack(ahead) + np.stack(behind[::-1])
        return through


def lattice_note(lattice: Lattice) -> dict[str, Option]:
    """Its width, and how probable its best path is."""
    return {
        "lattice_width": lattice.tokens.shape[1],
        "best_path_probability": round(float(np.exp(lattice.best_path()[1])), 6),
    }


def shown_lattice(tree: DraftTree, lattice: Lattice) -> Exhibit:
    """Each place's tokens with the probability of the best path through them."""
    best, _ = lattice.best_path()
    through = np.exp(lattice.max_marginals())
    depths, rows = tree.depths, []
    for place, tokens in enumerate(lattice.tokens.tolist()):
        nodes = [node for node in range(ROOT + 1, len(tree)) if depths[node] == place + 1]
        drafted = {tree.tokens[node] for node in nodes}
        marks = [index for index, token in enumerate(tokens) if token in drafted]
        scores = [round(score, 6) for score in through[place].tolist()]
        rows.append(ExhibitRow(f"place {place + 1}", tokens, marks, nodes, scores=scores))
    rows.append(ExhibitRow("the best path", best))
    return Exhibit("the lattice: probability of the best path through each token", rows, marked="drafted")


AT_ONCE = 4
"""tokens that a compiled product takes no longer for than torch's: its sums are short, and it ends each by itself"""


class Bigram(nn.Module):
    """before[a] · after[b], added to the logit of token b after token a: 2 V R numbers instead of V². Zero at first."""

    def __init__(self, vocabulary: int, rank: int) -> None:
        super().__init__()
        self.before = nn.Parameter(drawn(vocabulary, rank, over=rank**0.5))
        self.after = nn.Parameter(torch.zeros(vocabulary, rank))

    def forward(self, tokens: Tensor) -> Tensor:
        """What tokens [...] add to the logits of what follows them [..., V]."""
        return self.before[tokens] @ self.after.T  # [..., R] · [R, V]

    def as_table(self) -> PairTable | None:
        """As it runs by compiled calls; None where it does not."""
        return PairTable.of(self.before, self.after)

    def behind(self, tokens: Sequence[int], table: PairTable | None = None) -> Tensor:
        """As `forward` for tokens [n]; up to AT_ONCE by its table, where there is one."""
        if table is not None and len(tokens) <= AT_ONCE and table.takes(len(tokens)):
            return table.behind(tokens)
        added: Tensor = self(torch.tensor(tokens, device=self.after.device))
        return added

    def lattice(self, logits: Tensor, root: int, width: int, steps: bool = True) -> Lattice:
        """The `width` likeliest tokens at each place by logits [γ, V] alone, and the probabilities of the steps between
        them in the whole vocabulary. Without `steps` places are independent."""
        tokens = logits.topk(min(width, logits.shape[-1]), dim=-1).indices  # [γ, k]
        places, width = tokens.shape
        chosen = tokens.tolist()
        if steps:
            # [1 + (γ - 1) k, V]: behind the root at the first place, behind each token of the one before at the others
            added = self.behind([root, *(token for row in chosen[:-1] for token in row)])
            level = torch.arange(places, device=logits.device).repeat_interleave(width)[width - 1 :]
            scores = (added + logits[level]).log_softmax(-1)
        else:
            level = torch.arange(places, device=logits.device)
            scores = logits.log_softmax(-1)
        kept = scores.gather(-1, tokens[level]).double().cpu().numpy()  # of V the k kept at each place
        between = kept[1:] if steps else kept[1:].repeat(width, 0)
        return Lattice(tokens.cpu().numpy(), kept[0], between.reshape(places - 1, width, width))
