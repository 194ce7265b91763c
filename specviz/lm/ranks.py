"""One target over the processes of `torchrun`: rank 0 decodes, the others compute their share of its passes.

    rank 0: session ─► LedModel ── load · pass · keep · truncate · forget · end ──► rank 1, 2, …: follow

transformers cuts the matrices of each layer over the ranks and adds up what they make of them (tensor parallelism;
Shoeybi et al. 1909.08053, §3), so each pass must be made by all at once. Only rank 0 has a session: it drafts, draws
and judges, and before each pass it sends its rows to the others, who make the same pass over caches of their own and
throw the logits away. So no two ranks can come to different decisions, however each of them rounds and whatever its
clock measures, and a run needs no other proof than on one process.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache
from itertools import count
from typing import Any
from weakref import finalize

import torch
import torch.distributed as dist
from torch import Tensor

from specviz.lm.base import Cache, LanguageModel, ModelInfo
from specviz.lm.hub.model import HubCache, HubModel

Load = Callable[..., Any]
"""`lm.load.load`"""
PATIENCE = timedelta(days=365)
"""A page may be left alone for long between two runs."""


class Team:
    """The processes of one `torchrun`, and how rank 0 tells the others what to do."""

    def __init__(self) -> None:
        if not dist.is_initialized():
            dist.init_process_group()
        self._group = dist.new_group(backend="gloo", timeout=PATIENCE)
        self.forgotten: list[int] = []
        """caches of rank 0 that are gone: said before the next one is made, since a finalizer may run at any time"""
        if leads():
            atexit.register(self._end)

    def say(self, *order: Any) -> None:
        """Rank 0 to all others; returns when they have it."""
        dist.broadcast_object_list([order], src=0, group=self._group)

    def hear(self) -> tuple[Any, ...]:
        """The next order of rank 0."""
        heard: list[Any] = [None]
        dist.broadcast_object_list(heard, src=0, group=self._group)
        order: tuple[Any, ...] = heard[0]
        return order

    def leave(self) -> None:
        dist.destroy_process_group()

    def _end(self) -> None:
        self.say("end")
        self.leave()


@cache
def team() -> Team:
    """Made when it is first needed: that waits for all ranks."""
    return Team()


def leads() -> bool:
    """Whether this is the process that decodes."""
    return os.environ.get("RANK", "0") == "0"


class Follower:
    """Models and caches of another rank, by the numbers that rank 0 gave them."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._models: list[LanguageModel] = []
        self._caches: dict[int, HubCache] = {}

    def obey(self, order: str, *of: Any) -> None:
        """Do what rank 0 does too."""
        match order:
            case "load":
                name, dtype = of
                self._models.append(self._load(name, dtype=dtype, device="tp:auto").model)
            case "pass":
                model, number, tokens, parents, last_only = of
                self._models[model].forward(tokens, self._cache(number), parents, last_only)
            case "keep":
                self._cache(of[0]).keep(of[1])
            case "truncate":
                self._cache(of[0]).truncate(of[1])
            case "forget":
                self._caches.pop(of[0], None)

    def _cache(self, number: int) -> HubCache:
        return self._caches.setdefault(number, HubCache())


_following = False
"""whether this process already does what rank 0 says"""


def follow_unless_first(load: Load) -> None:
    """Of several processes only the first goes on; the others do what it says, `load` models as it does, and end with
    it."""
    global _following
    if leads() or _following:
        return
    _following = True
    me, whole = Follower(load), team()
    while (order := whole.hear())[0] != "end":
        me.obey(*order)
    whole.leave()
    raise SystemExit(0)


class LedCache(HubCache):
    """A cache that every rank has; what happens to this one happens to all."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        finalize(self, team().forgotten.append, number)

    def keep(self, rows: Sequence[int]) -> None:
        """See `Cache.keep`."""
        super().keep(rows)
        team().say("keep", self.number, list(rows))

    def truncate(self, length: int) -> None:
        """See `Cache.truncate`."""
        super().truncate(length)
        team().say("truncate", self.number, length)


class LedModel:
    """Rank 0's share of a model that is cut over all ranks. It gives logits and nothing else: the weights are nowhere
    whole, so no drafter can read them."""

    _numbers = count()

    def __init__(self, model: HubModel, number: int) -> None:
        self._model = model
        self._number = number

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    @property
    def device(self) -> torch.device:
        return self._model.device

    def new_cache(self) -> LedCache:
        whole = team()
        while whole.forgotten:
            whole.say("forget", whole.forgotten.pop())
        return LedCache(next(self._numbers))

    def forward(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None = None, last_only: bool = False
    ) -> Tensor:
        """See `LanguageModel.forward`."""
        assert isinstance(cache, LedCache), "this cache belongs to another adapter."
        cache.place(tokens, parents, self.info.context_length)  # what is refused is not even said
        given = None if parents is None else list(parents)
        team().say("pass", self._number, cache.number, list(tokens), given, last_only)
        return self._model.forward(tokens, cache, parents, last_only)


_models = count()


def say_load(name: str, dtype: str) -> None:
    """Let the others load a model too, which they must do together."""
    if leads():
        team().say("load", name, dtype)


def led(model: HubModel) -> LanguageModel:
    """What this process decodes with: rank 0's speaks for all ranks, and the others' only follow."""
    return LedModel(model, next(_models)) if leads() else model
