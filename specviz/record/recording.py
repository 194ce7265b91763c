"""The context around `model.generate`: puts the watch in place, and makes a checked trace of every run in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from specviz.errors import RecordError
from specviz.lm.text import TextCodec
from specviz.record.cards import GENERATORS, MTP, Settings, name_of, settings_of, started
from specviz.record.rounds import Rounds
from specviz.record.watch import UNKNOWN, Watch, drafting_model
from specviz.trace.characters import decoded
from specviz.trace.check import check, errors
from specviz.trace.codec import assemble
from specviz.trace.events import Finished, FinishReason, Step, Trace


class Recording:
    """What `specviz.record.transformers` gives: a context, and afterwards its traces."""

    def __init__(self, model: Any, tokenizer: Any, top: int) -> None:
        """Raises RecordError where this model or tokenizer cannot be recorded."""
        self.traces: list[Trace] = []
        """one per generate, in their order"""
        self._model = model
        self._top = top
        _check_model(model)
        self._text = _codec(tokenizer)
        self._run: _Run | None = None
        self._inside = False
        self._problem: RecordError | None = None

    @property
    def trace(self) -> Trace:
        """The last run's. Raises RecordError where there is none."""
        if not self.traces:
            raise RecordError(NOTHING)
        return self.traces[-1]

    def __enter__(self) -> Recording:
        self._model.generate = self._generate
        self._model._get_candidate_generator = self._get_candidate_generator
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        for name in ("generate", "_get_candidate_generator"):
            self._model.__dict__.pop(name, None)
        if error is None and self._problem is not None:
            raise self._problem
        if error is None and not self.traces:
            raise RecordError(NOTHING)

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        original = type(self._model).generate
        if self._inside:  # a model that drafts for itself generates while it generates
            return original(self._model, *args, **kwargs)
        self._inside, self._run = True, None
        try:
            result = original(self._model, *args, **kwargs)
            if self._run is not None:
                self._run.watch.finish()
                self._keep(self._run, result)
        finally:
            self._inside = False
            if self._run is not None:
                self._run.watch.close()
        return result

    def _get_candidate_generator(self, *args: Any, **kwargs: Any) -> Any:
        generator = type(self._model)._get_candidate_generator(self._model, *args, **kwargs)
        try:
            settings = settings_of(kwargs["generation_config"], kwargs["logits_processor"], generator)
        except (KeyError, AttributeError) as error:
            raise RecordError(f"{UNKNOWN} ({type(error).__name__}: {error}).") from error
        rounds = Rounds(settings, self._text, self._top)
        self._run = _Run(generator, settings, rounds, Watch(self._model, generator, rounds.add))
        return generator

    def _keep(self, run: _Run, result: Any) -> None:
        """What goes wrong here is told when the block ends: what generate returned reaches its caller first."""
        try:
            if run.watch.problem is not None:
                raise run.watch.problem
            self.traces.append(run.trace(self._model, self._text, _sequence(result)))
        except RecordError as error:
            self._problem = self._problem or error


NOTHING = (
    "no assisted generate ran to its end inside the block; call model.generate there with assistant_model or "
    "prompt_lookup_num_tokens, on the model that is recorded."
)


class _Run:
    """One generate, from its candidate generator to its trace."""

    def __init__(self, generator: Any, settings: Settings, rounds: Rounds, watch: Watch) -> None:
        self.watch = watch
        self._generator = generator
        self._settings = settings
        self._rounds = rounds

    def trace(self, model: Any, text: TextCodec, sequence: list[int]) -> Trace:
        """Raises RecordError where the trace contradicts itself or is not what generate returned."""
        events, rounds = self._rounds.events, self._rounds
        prompt = sequence[: events[0].base_length] if events else sequence
        output = [token.token for event in events for token in event.committed.tokens]
        if not events or prompt + output != sequence:
            raise RecordError(
                f"the rounds that were seen write {len(output)} tokens that are not those which generate returned; "
                f"{UNKNOWN}."
            )
        drafter = drafting_model(self._generator) if self._settings.drafter != GENERATORS[MTP] else None
        header = started(model, None if drafter is model else drafter, text, self._settings, prompt)
        rounds.mention(prompt)
        special = set(text.special_ids)
        spelt = decoded(b"".join(text.token_bytes(token) for token in output if token not in special))
        seconds = sum(event.seconds for event in events)
        end = Finished(self._reason(sequence), None, output, spelt, 0.0, seconds, rounds.seconds)
        trace = assemble([Step(header, rounds.vocab), *(Step(event, {}) for event in events), Step(end, {})])
        for problem in errors(check(trace)):
            raise RecordError(f"what was recorded contradicts itself: {problem} The run is not kept.")
        return trace

    def _reason(self, sequence: list[int]) -> FinishReason:
        """A stopping criterion of the caller's own ends a run as a visitor does."""
        if sequence[-1] in self._settings.eos_ids:
            return "eos"
        return "length" if len(sequence) >= self._settings.max_length else "cancelled"


def _check_model(model: Any) -> None:
    for name in ("generate", "_get_candidate_generator", "register_forward_hook"):
        if not callable(getattr(model, name, None)):
            raise RecordError(f"{type(model).__name__} has no {name}: {UNKNOWN}, and with a model of transformers.")
    if model.config.is_encoder_decoder:
        raise RecordError(f"{type(model).__name__} reads its prompt with an encoder; record a decoder alone.")


def _codec(tokenizer: Any) -> TextCodec:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise RecordError(
            f"{type(tokenizer).__name__} is no fast tokenizer, so its tokens' bytes are not known; load it with "
            "AutoTokenizer.from_pretrained(…, use_fast=True)."
        )
    folder = Path(str(tokenizer.name_or_path))
    name = name_of(str(tokenizer.name_or_path), type(tokenizer).__name__)
    file = folder / "tokenizer.json"
    if file.is_file() and type(backend).from_file(str(file)).to_str() == backend.to_str():
        return TextCodec.from_folder(folder, name)  # with the hash of its file, as our own runs have it
    return TextCodec(backend, name)


def _sequence(result: Any) -> list[int]:
    ids = result["sequences"] if isinstance(result, Mapping) else result
    sequence: list[int] = ids[0].tolist()
    return sequence
