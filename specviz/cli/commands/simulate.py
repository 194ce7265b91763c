"""`specviz simulate`: model what a draft would bring, simulate a run of it, or put a trace on another clock.

Place in the flow: options → what_if or simulation → numbers, and a trace that says it is simulated. Everything
printed is modelled and says so.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from specviz.cli.terminal import out, printable
from specviz.errors import OptionError
from specviz.options import several_numbers
from specviz.theory.what_if import Clock, Shape

COST_RATIO = 0.05
ALPHA, GAMMA = 0.7, 4


def configure(parser: argparse.ArgumentParser) -> None:
    probability = parser.add_mutually_exclusive_group()
    probability.add_argument(
        "--alpha", type=float, metavar="X", help=f"probability that a candidate passes (default {ALPHA})"
    )
    probability.add_argument("--rates", metavar="X,X,…", help="the same by depth; the last one goes on")
    probability.add_argument("--rates-of", type=Path, metavar="TRACE", help="the rates by depth that a trace shows")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--gamma", type=int, metavar="N", help=f"tokens drafted per round, a chain (default {GAMMA})")
    shape.add_argument("--tree", metavar="N,N,…", help="children per node, level by level")
    parser.add_argument(
        "--cost-ratio",
        type=float,
        metavar="C",
        help=f"a drafter pass in one-row target passes (default {COST_RATIO}; with --replay: as in the run)",
    )
    parser.add_argument(
        "--curve", metavar="FILE", help="step times of a target, by file or by the name of a shipped one; else flat"
    )
    parser.add_argument("--context", type=int, metavar="N", help="with --curve: cached rows (default its shortest)")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="with --curve: sequences (default 1)")
    parser.add_argument("--rounds", type=int, default=32, metavar="N", help="rounds to simulate (default 32)")
    parser.add_argument("--seed", type=int, default=7, metavar="S", help="the same seed gives the same run")
    parser.add_argument("--trace", type=Path, metavar="OUT", help="write the simulated run, .json or .json.gz")
    parser.add_argument(
        "--replay", type=Path, metavar="TRACE", help="put this run's own rounds on the clock of --curve"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    found = _replay(args) if args.replay is not None else _simulate(args)
    if args.json:
        out().line(json.dumps(found, ensure_ascii=False))
        return 0
    for name, value in found.items():
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        words = name.replace("_", " ")
        out().line(f"{out().paint(f'{words:>28}', 'dim')}  {printable('–' if value is None else shown, keep='')}")
    return 0


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A clock and how to call it."""

    clock: Clock
    name: str


def _simulate(args: argparse.Namespace) -> dict[str, Any]:
    from specviz.theory import what_if
    from specviz.theory.simulation import Simulation, modelled_speedup, simulate
    from specviz.trace import codec

    alphas, shape, chosen = _rates(args), _shape(args), _clock(args, COST_RATIO)
    outcome = what_if.outcome(alphas, shape, chosen.clock)
    trace = simulate(Simulation(alphas, shape, chosen.clock, chosen.name, args.rounds, args.seed))
    if args.trace is not None:
        codec.write(trace, args.trace)
    lengths = [1 + len(this.judged.path) for this in trace.rounds]
    formula = {key: value for key, value in asdict(outcome).items() if key not in ("round_s", "plain_s")}
    if not chosen.clock.unit:
        formula["tokens_per_s"] = args.batch * outcome.tokens_per_s
    return {
        "label": "modelled: no model ran",
        "clock": chosen.name,
        "draft": f"gamma {shape.depth}" if shape.is_chain else f"tree {shape.text}, {shape.nodes} candidates",
        "acceptance": ", ".join(f"{alpha:.4g}" for alpha in alphas),
        **formula,
        "best_gamma": what_if.best_gamma(alphas, chosen.clock),
        "simulated_rounds": len(lengths),
        "simulated_tokens_per_round": fmean(lengths),
        "standard_error": stdev(lengths) / len(lengths) ** 0.5 if len(lengths) > 1 else None,
        "simulated_speedup": modelled_speedup(trace),
        "trace": None if args.trace is None else str(args.trace),
    }


def _replay(args: argparse.Namespace) -> dict[str, Any]:
    from specviz.theory.reclock import measured_overhead, on_its_curve, reclock
    from specviz.trace import codec

    if args.curve is None:
        raise OptionError("--replay puts a run on another machine's clock; say which with --curve.")
    shaping = ("alpha", "rates", "rates_of", "gamma", "tree", "trace")
    if any(getattr(args, name) is not None for name in shaping):
        raise OptionError(
            "--replay keeps the run's own rounds; leave out --alpha, --rates, --gamma, --tree and --trace."
        )
    trace = codec.read(args.replay)
    chosen = _clock(args, 0.0)
    other, own = reclock(trace, chosen.clock.times, args.cost_ratio), on_its_curve(trace)
    return {
        "label": f"modelled: the rounds of a {trace.started.source} run on another clock",
        "run": trace.started.run_id,
        "clock": chosen.name,
        "rounds": other.rounds,
        "tokens": other.tokens,
        "speedup": other.speedup,
        "tokens_per_s": args.batch * other.tokens_per_s,
        "share_drafting": other.draft_s / (other.draft_s + other.target_s),
        "speedup_on_its_own_curve": None if own is None else own.speedup,
        "measured_time_outside_passes": measured_overhead(trace),
    }


def _rates(args: argparse.Namespace) -> tuple[float, ...]:
    from specviz.theory.simulation import rates_of
    from specviz.trace import codec

    if args.rates_of is not None:
        return rates_of(codec.read(args.rates_of))
    if args.rates is not None:
        return several_numbers("--rates", args.rates, float, "0.8,0.6,0.5")
    return (ALPHA if args.alpha is None else args.alpha,)


def _shape(args: argparse.Namespace) -> Shape:
    if args.tree is not None:
        return Shape(several_numbers("--tree", args.tree, int, "3,2,1"))
    return Shape.chain(GAMMA if args.gamma is None else args.gamma)


def _clock(args: argparse.Namespace, otherwise: float) -> _Chosen:
    """The curve at its context and batch, or passes that all cost the same; a drafter pass as --cost-ratio says."""
    from specviz.protocol import profiles as files
    from specviz.theory import roofline as hardware

    ratio = otherwise if args.cost_ratio is None else args.cost_ratio
    if args.curve is None:
        if args.context is not None or args.batch != 1:
            raise OptionError("--context and --batch choose from a curve; name one with --curve.")
        return _Chosen(Clock.of_ratio(ratio), f"cost ratio {ratio:g}, target passes of any width count 1 s")
    shipped = hardware.curves()
    if args.curve not in shipped and not Path(args.curve).is_file():
        raise OptionError(f"--curve is '{args.curve}', which is no file and none of: {', '.join(shipped)}.")
    curve = shipped[args.curve] if args.curve in shipped else files.read(args.curve)
    times = hardware.step_times(curve, args.context, args.batch)
    context = hardware.passes(curve, args.context, args.batch)[0].context
    drafting = (
        "drafter passes as dear as in the run" if args.replay and args.cost_ratio is None else f"cost ratio {ratio:g}"
    )
    name = f"{curve.name}, {curve.model.name}, context {context}, batch {args.batch}, {drafting}"
    return _Chosen(Clock(times, ratio * times.at(1)), name)
