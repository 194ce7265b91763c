"""What the named endpoints answer: JSON in, JSON out, the page's own limits, one sentence where something is wrong.

Their docstrings are what a client and an MCP host are told, so they are in plain words and name every parameter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, TypeVar

import gradio as gr
from gradio.events import api

from specviz.app.form.request import Limits, option_key, request_from
from specviz.app.job import Cancellable
from specviz.app.look.events import ENGINE
from specviz.app.speedup.running import RunningSweep, check_limits, measure
from specviz.errors import BenchError, OptionError, SpecVizError, TraceError, shown
from specviz.protocol.runs import MethodDescription, TraceSource
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.definition import expand
from specviz.protocol.sweeps.result import with_points
from specviz.protocol.sweeps.store import definition_of
from specviz.trace import codec
from specviz.trace.check import report_of, unreadable
from specviz.trace.codec import assemble
from specviz.trace.files import UPLOAD

T = TypeVar("T")


class Answers(Cancellable):
    """Over one source, with the limits that the page's visitors have."""

    def __init__(self, source: TraceSource, limits: Limits) -> None:
        super().__init__()
        self.source = source
        self.limits = limits

    def catalogue(self) -> dict[str, Any]:
        """What can be asked for here: models, drafters, verifiers, tree policies and stop policies with every option,
        and the named prompts. Nothing runs."""
        return json.loads(json.dumps(asdict(self.source.catalog())))  # type: ignore[no-any-return]

    def run(
        self,
        visitor: gr.Request,
        prompt: str,
        drafter: str = "model",
        drafter_options: dict[str, Any] | None = None,
        verifier: str = "auto",
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 7,
        max_new_tokens: int = 32,
        with_trace: bool = False,
        target: str = "target",
        drafter_model: str = "drafter",
    ) -> dict[str, Any]:
        """Decode a prompt by speculative decoding with real models and say how much of the draft was accepted.

        Parameters:
            prompt: the text to continue
            drafter: who guesses ahead; names stand in the catalogue, such as model, ngram, none
            drafter_options: the drafter's options by name, such as {"gamma": 4}
            verifier: who judges; auto is greedy at temperature 0 and sequential above
            temperature: 0 takes the most probable token
            top_k: only so many tokens may be drawn; 0 is off
            top_p: only the most probable tokens with this mass may be drawn; 1 is off
            seed: the same seed gives the same run
            max_new_tokens: the length of the answer at most
            with_trace: also give the whole trace, which is large
            target: the model whose text it is; others than the catalogue's only where the machine allows them
            drafter_model: the weights of a drafter that is a model
        """
        values: dict[str, Any] = {
            "prompt": prompt,
            "drafter": drafter,
            "verifier": verifier,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
            "max_new_tokens": max_new_tokens,
            "target": target,
            "drafter_model": drafter_model,
        }
        return _told(lambda: self._run(visitor, values, drafter_options or {}, with_trace))

    def check(self, trace: dict[str, Any]) -> dict[str, Any]:
        """Whether a trace agrees with itself: every broken rule with its place, and what could not be recomputed.

        Parameters:
            trace: a trace as an object, as its .json file holds it
        """
        try:
            return report_of(codec.loads(json.dumps(trace), UPLOAD))
        except TraceError as error:
            return unreadable(str(error))
        except (ValueError, RecursionError) as error:  # numbers and nesting that even to write takes too much
            return unreadable(f"the trace cannot be written as JSON ({type(error).__name__}).")

    def sweep(self, visitor: gr.Request, settings: str) -> Iterator[dict[str, Any]]:
        """Measure drafters side by side against plain decoding: progress while it runs, the whole result at the end.

        Parameters:
            settings: a sweep file as TOML text, such as: drafters = ["ngram"], gammas = [2, 4], prompts = ["copy-a"]
        """
        key = visitor.session_hash or ""
        self._cancellations.arm(key)
        stop = self._cancellations.armed(key)
        job = _told(lambda: RunningSweep(definition_of(settings)))
        spec = _told(lambda: self._spec(job))
        runs = _sentences(measure(job, self.source, spec, stop))
        for _ in runs:
            planned = job.result.planned_runs if job.result is not None else None
            yield {"done": len(job.points), "of": planned, "result": None}
        if job.result is None:
            raise gr.Error("The sweep was stopped before its first run.", print_exception=False)
        measured = with_points(job.result, job.points)
        result = json.loads(store.dumps(measured))
        yield {"done": len(job.points), "of": job.result.planned_runs, "result": result}

    def _spec(self, job: RunningSweep) -> Any:
        if job.definition.prompt_file:
            raise BenchError("prompt_file names a file beside the sweep file, and text has none; write own_prompts.")
        catalog = self.source.catalog()
        spec = expand(job.definition, catalog)
        check_limits(job.definition, spec, catalog, self.limits)
        return spec

    def _run(
        self, visitor: gr.Request, values: dict[str, Any], options: dict[str, Any], with_trace: bool
    ) -> dict[str, Any]:
        key, catalog = visitor.session_hash or "", self.source.catalog()
        method = next((drafter for drafter in catalog.drafters if drafter.name == values["drafter"]), None)
        if method is not None:
            values |= {option_key("drafter", method.name, name): options[name] for name in _known(method, options)}
        request = request_from(values, catalog, self.limits)
        reason = self.source.explain(request)
        if reason:
            raise OptionError(reason)
        self._cancellations.arm(key)
        stop = self._cancellations.armed(key)
        trace = assemble(self.source.run(request, stop.is_set))
        stop.check()
        answer = {
            "text": trace.finished.text,
            "reason": trace.finished.reason,
            "message": trace.finished.message,
            "source": trace.started.source,
            "summary": asdict(trace.summary),
        }
        return answer | ({"trace": codec.to_data(trace)} if with_trace else {})


def _known(method: MethodDescription, options: dict[str, Any]) -> list[str]:
    if not isinstance(options, dict):
        raise OptionError(f'drafter_options is {shown(options)}, but must be an object, such as {{"gamma": 4}}.')
    names = [card.name for card in method.options]
    wrong = [name for name in options if name not in names]
    if wrong:
        raise OptionError(f"the drafter '{method.name}' has no option '{wrong[0][:40]}'; it has {', '.join(names)}.")
    return list(options)


def _told(make: Callable[[], T]) -> T:
    """A sentence of the program becomes the error that a client gets."""
    try:
        return make()
    except SpecVizError as error:
        raise gr.Error(str(error), print_exception=False) from None


def _sentences(items: Iterator[T]) -> Iterator[T]:
    try:
        yield from items
    except SpecVizError as error:
        raise gr.Error(str(error), print_exception=False) from None


LANE = {name: ENGINE[name] for name in ("concurrency_id", "concurrency_limit")}
"""the engine's lane, for events that are public"""


def named_endpoints(answers: Answers) -> None:
    """`/catalogue`, `/run`, `/check` and `/sweep`, inside the current Blocks."""
    api(answers.catalogue, api_name="catalogue", queue=False)
    api(answers.run, api_name="run", **LANE)
    api(answers.check, api_name="check", concurrency_limit=2)
    api(answers.sweep, api_name="sweep", **LANE)


def mcp_installed() -> bool:
    """Whether the extra is there that gradio serves MCP with (`pip install 'specviz[mcp]'`)."""
    return find_spec("mcp") is not None
