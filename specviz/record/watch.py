"""Watches one `generate`: hooks on its candidate generator, on both models' passes, and on what the verdict draws.

    get_candidates ─► target's pass ─► verdict (draws watched) ─► update_candidate_strategy ─► get_candidates …

Nothing that generate computes with is changed, nothing is drawn, and what goes wrong while watching is kept for later:
it never ends the run that is watched. Of transformers' loop two method names are known and nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from specviz.core.clock import now
from specviz.errors import RecordError
from specviz.lm.hub.model import given_cache, returned_cache
from specviz.trace.events import Pass


@dataclass(slots=True)
class Clock:
    """Seconds per phase; what transformers does between two rounds belongs to the commit of the first."""

    draft: float = 0.0
    score: float = 0.0
    """from the draft's end to the end of the target's pass"""
    target: float = 0.0
    """the target's pass alone, a part of `score`"""
    judge: float = 0.0
    commit: float = 0.0

    @property
    def total(self) -> float:
        return self.draft + self.score + self.judge + self.commit


@dataclass(slots=True)
class Observed:
    """With n candidates and a vocabulary of V."""

    text: list[int]
    """prompt and committed tokens before the round"""
    candidates: list[int] = field(default_factory=list)
    draft_logits: Tensor | None = None
    """[n, V] after temperature and cuts: what the candidates were chosen by; None: they were not a model's"""
    draft_raw: list[Tensor] = field(default_factory=list)
    """[V] per pass of the drafter: its own logits; empty where one pass makes all candidates"""
    passes: list[Pass] = field(default_factory=list)
    target_raw: Tensor | None = None
    """[n + 1, V] the target's own logits after the text and after each candidate"""
    target_logits: Tensor | None = None
    """[n + 1, V] the same after temperature and cuts"""
    uniforms: list[float] = field(default_factory=list)
    """one per candidate where candidates are judged with q"""
    drawn: list[int] = field(default_factory=list)
    """tokens that the target drew: one, or one per row where no q is used"""
    committed: list[int] = field(default_factory=list)
    cache: Any = None
    """the target's cache, until the round is over"""
    cache_rows: int = 0
    """its rows then"""
    clock: Clock = field(default_factory=Clock)


Seen = Callable[[Observed], None]
WATCHED = {"get_candidates": {"input_ids"}, "update_candidate_strategy": {"input_ids", "scores"}}
"""methods of a candidate generator, and the arguments that are read there"""
UNKNOWN = "this release of transformers works in a way that is not known; record with 5.17 to 5.24"


class Watch:
    """The rounds of one generate, each handed to `seen` when the next one begins or `finish` is called."""

    def __init__(self, model: Any, generator: Any, seen: Seen) -> None:
        """Raises RecordError where this release's generator has other methods than those that are watched."""
        self.problem: RecordError | None = None
        """why the run cannot be recorded, as found on the way"""
        self._device = model.device
        self._generator = generator
        self._seen = seen
        self._methods = {name: _method(generator, name) for name in WATCHED}
        self._drafting = False
        self._round: Observed | None = None
        self._over: Observed | None = None
        self._draws: Draws | None = None
        self._clock = self._pass_began = 0.0
        self._cached = 0
        generator.get_candidates = self._get_candidates
        generator.update_candidate_strategy = self._update
        models = {id(watched): watched for watched in (model, drafting_model(generator)) if watched is not None}
        self._hooks = [
            hook
            for watched in models.values()
            for hook in (
                watched.register_forward_pre_hook(self._before_pass, with_kwargs=True),
                watched.register_forward_hook(self._after_pass, with_kwargs=True),
            )
        ]

    def finish(self) -> None:
        """Hand over the last round, and leave generator and models as they were."""
        self._hand_over()
        self.close()

    def close(self) -> None:
        """Leave generator and models as they were."""
        self._stop_drawing()
        for hook in self._hooks:
            hook.remove()
        for name in self._methods:
            self._generator.__dict__.pop(name, None)

    def _get_candidates(self, input_ids: Tensor, **kwargs: Any) -> Any:
        self._hand_over()
        began = now(self._device)
        this = self._round = Observed(input_ids[0].tolist())
        self._drafting = True
        candidates, logits = self._methods["get_candidates"](input_ids, **kwargs)
        self._drafting = False
        with self._watching():
            this.candidates = candidates[0, input_ids.shape[1] :].tolist()
            this.draft_logits = None if logits is None else logits[0].float()
        self._clock = now(self._device)
        this.clock.draft = self._clock - began
        return candidates, logits

    def _before_pass(self, module: Any, args: Any, kwargs: Any) -> None:
        with self._watching():
            held = kwargs.get("mtp_cache", given_cache(kwargs))
            self._cached = 0 if held is None else int(held.get_seq_length())
        self._pass_began = now(self._device)

    def _after_pass(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        ended, this = now(self._device), self._round
        if this is None:
            return
        with self._watching():
            seconds = ended - self._pass_began
            if self._drafting:
                this.passes.append(self._draft_pass(kwargs, output, seconds, len(this.passes) + 1))
                if isinstance(getattr(output, "logits", None), Tensor):
                    this.draft_raw.append(output.logits[0, -1].float().clone())
                return
            rows = output.logits[0, -len(this.candidates) - 1 :]
            this.target_raw = rows.float().clone()  # generate may apply its temperature in place
            this.cache = returned_cache(output)
            this.clock.target, this.clock.score = seconds, ended - self._clock
            self._clock = ended
            self._draws = Draws()
            self._draws.start()

    def _draft_pass(self, given: Mapping[str, Any], output: Any, seconds: float, depth: int) -> Pass:
        """A drafter reads the text through a cache of its own (assistant, early exit, MTP, whose one pass makes all its
        candidates), or the target's states and rows (a block of DFlash, a Gemma assistant), and keeps no rows then."""
        if "mtp_cache" in given:
            return Pass(int(given["input_ids"].shape[1]), self._cached, seconds)
        if "noise_embeds" in given:
            return Pass(int(given["noise_embeds"].shape[1]), 0, seconds)
        if "shared_kv_states" in given:
            return Pass(int(given["inputs_embeds"].shape[1]), 0, seconds, depth)
        return Pass(int(returned_cache(output).get_seq_length()) - self._cached, self._cached, seconds, depth)

    def _update(self, *args: Any, **kwargs: Any) -> Any:
        method, this, began = self._methods["update_candidate_strategy"], self._round, now(self._device)
        draws = self._stop_drawing()
        if this is not None:
            with self._watching():
                given = _signature(method).bind(*args, **kwargs).arguments
                this.clock.judge = began - self._clock
                this.committed = given["input_ids"][0, len(this.text) :].tolist()
                this.target_logits = given["scores"][0].float()
                this.uniforms = [u for uniform in draws.uniforms for u in uniform.reshape(-1).tolist()] if draws else []
                this.drawn = [token for drawn in draws.tokens for token in drawn.reshape(-1).tolist()] if draws else []
                this.cache_rows = int(this.cache.get_seq_length())
                this.cache = None
        result = method(*args, **kwargs)
        self._clock = now(self._device)
        if this is not None:
            this.clock.commit = self._clock - began
        self._round, self._over = None, this
        return result

    def _hand_over(self) -> None:
        """What generate did since the last round was over belongs to it: stopping criteria, masks, its own records."""
        over, self._over = self._over, None
        if over is not None and self.problem is None:
            over.clock.commit += now(self._device) - self._clock
            with self._watching():
                self._seen(over)

    def _stop_drawing(self) -> Draws | None:
        draws, self._draws = self._draws, None
        if draws is not None:
            draws.stop()
        return draws

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """What fails in here is kept as the run's problem: generate goes on, and nothing more is recorded of it."""
        try:
            yield
        except RecordError as error:
            self.problem = self.problem or error
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
            words = " ".join(str(error).split())
            self.problem = self.problem or RecordError(f"{UNKNOWN} ({type(error).__name__}: {words}).")


def drafting_model(generator: Any) -> Any:
    """What makes the passes of a candidate generator; None: it has no weights."""
    return getattr(generator, "mtp_model", None) or getattr(generator, "assistant_model", None)


def _method(generator: Any, name: str) -> Any:
    method = getattr(generator, name, None)
    parameters = set(_signature(method).parameters) if callable(method) else set[str]()
    if not WATCHED[name] <= parameters:
        raise RecordError(
            f"{type(generator).__name__}.{name} does not take {' and '.join(sorted(WATCHED[name]))}: {UNKNOWN}."
        )
    return method


def _signature(method: Any) -> inspect.Signature:
    """A method's own; of one that takes whatever comes (MTP's in 5.17) that of its base."""
    signature = inspect.signature(method)
    if set(signature.parameters) != {"args", "kwargs"}:
        return signature
    return inspect.signature(getattr(super(type(method.__self__), method.__self__), method.__name__))


class Draws(TorchFunctionMode):
    """The results of `torch.rand_like` and `torch.multinomial`, in the order in which they were called."""

    def __init__(self) -> None:
        super().__init__()
        self.uniforms: list[Tensor] = []
        self.tokens: list[Tensor] = []

    def start(self) -> None:
        """From here on."""
        super().__enter__()  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """Until here."""
        super().__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.rand_like:
            self.uniforms.append(result)
        elif func is torch.multinomial:
            self.tokens.append(result)
        return result
