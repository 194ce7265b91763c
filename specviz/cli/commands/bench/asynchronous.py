"""`specviz bench asynchronous`: does drafting beside verifying pay here? Plain, in turn, PEARL and AMUSD in one run.

Place in the flow: an experiment of `specviz bench`; loads the pair, starts the drafter's process, prints one table.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.provenance import origin_here
from specviz.bench.core.report import check_section, markdown_table, write_between
from specviz.cli.experiment import add_count, add_pair_flags
from specviz.cli.request import prompt_card
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, out
from specviz.errors import OptionError
from specviz.protocol.runs import Catalog, PromptCard
from specviz.resources import ROOT
from specviz.studies.lanes.result import LanesCase
from specviz.trace.files import check_place

if TYPE_CHECKING:
    from specviz.lm.load import LoadedModel
    from specviz.studies.lanes.measure import Compared, LanesPlan, LanesRow

SUMMARY = "draft beside verifying: AMUSD and PEARL on two processes against drafting in turn"
PAGE = ROOT.parent / "docs" / "asynchronous.md"
MARK = "bench asynchronous"
HEAD = ("method", "× plain", "quartiles", "tokens/s", "drafter busy", "target busy", "thrown per token", "same text")


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_count(parser, "--prompts", 1, "prompts per family")
    add_count(parser, "--max-new-tokens", 64, "tokens per text, where it does not end before")
    add_count(parser, "--repeats", 3, "times each prompt is decoded by each method")
    add_count(parser, "--gamma", 4, "tokens drafted in turn, and by PEARL in a round")
    add_count(parser, "--ahead", 8, "tokens AMUSD's drafter may be ahead")
    add_count(parser, "--widest", 7, "tokens AMUSD verifies at most in a pass")
    add("--temperature", type=float, default=0.0, metavar="T", help="of the texts (default %(default)s)")
    add("--slow", type=float, default=6.0, metavar="MS",
        help="sleep after each pass of the slow drafter; 0: no such table (default %(default)s)")  # fmt: skip
    add("--prompt-id", metavar="ID", help="this prompt alone; `specviz list prompts` shows them")
    add("--lanes", type=Path, metavar="FILE",
        help="what each lane did on the first prompt, to a .json or .json.gz; DSI simulated beside")  # fmt: skip
    add("--write", type=Path, nargs="?", const=PAGE, metavar="PAGE",
        help="write the tables between the marks of a page, docs/asynchronous.md where none is named")  # fmt: skip
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.lm.place import Origin
    from specviz.lm.step_time import use_threads
    from specviz.studies.lanes.measure import LanesPlan, compare

    use_threads(args.threads)
    if args.slow < 0:
        raise OptionError(f"--slow is {args.slow:g} ms, but a sleep is 0 or longer.")
    if args.write:
        check_section(args.write, MARK)
    if args.lanes:
        check_place(args.lanes, "a file of lanes")
    models = SharedModels()
    target = models(args.target, device=args.device, dtype=args.dtype)
    drafter = models(args.drafter_model, device=args.device, dtype=args.dtype)
    cards = _chosen(live_source(models).catalog(), args)
    prompts = [(card.id, target.tokenizer.encode(card.text)) for card in cards]
    origin = Origin(args.drafter_model, args.device, args.dtype)
    eos = target.info.eos_ids
    parts, cases = [], list[LanesCase]()
    for slow in (0.0, args.slow) if args.slow else (0.0,):
        plan = LanesPlan(prompts, args.max_new_tokens, args.temperature, args.seed, args.gamma, args.ahead, args.widest,
                         args.repeats, slow / 1000)  # fmt: skip
        compared = compare(target.model, drafter.model, origin, plan, lambda token: token in eos, err().line)
        parts.append(section(compared.rows, slow, args))
        if args.lanes:
            cases.append(_case(compared, drafter, plan))
    report = "\n\n".join([*parts, str(origin_here(target, drafter))])
    out().line(report)
    if args.lanes:
        _keep(args, target, drafter, cards[0].text, compared, cases)
    if args.write:
        write_between(args.write, MARK, report)
    return 0


def _chosen(catalog: Catalog, args: argparse.Namespace) -> list[PromptCard]:
    """Raises PromptError for an id that is none."""
    if args.prompt_id is None:
        return list(first_prompts(catalog, args.prompts))
    return [prompt_card(catalog, args.prompt_id)]


def _case(compared: Compared, drafter: LoadedModel, plan: LanesPlan) -> LanesCase:
    from specviz.asynchronous.pair import Job
    from specviz.core.sampling import Sampling
    from specviz.studies.lanes.measure import case

    prompt = tuple(plan.prompts[0][1])
    length, sampling = len(prompt) + plan.max_new_tokens, Sampling(plan.temperature)
    job = Job("dsi", prompt, length, sampling, plan.seed, gamma=plan.gamma)
    return case(compared.first, drafter.model, job, plan.slowdown_s)


def _keep(
    args: argparse.Namespace, target: LoadedModel, drafter: LoadedModel, prompt: str, compared: Compared,
    cases: list[LanesCase],
) -> None:  # fmt: skip
    from specviz.engine.header import model_card
    from specviz.lm.step_time import machine
    from specviz.studies.lanes import result as lanes

    text = compared.first["plain"].text
    lanes.write(
        lanes.LanesFile(
            lanes.FORMAT, lanes.VERSION, prompt, target.tokenizer.decode(text[len(target.tokenizer.encode(prompt)) :]),
            machine(target.model.device, target.info.dtype), model_card(target.info), model_card(drafter.info),
            args.gamma, args.ahead, args.widest, args.temperature, args.seed, tuple(cases),
        ),
        args.lanes,
    )  # fmt: skip


def section(rows: list[LanesRow], slow_ms: float, args: argparse.Namespace) -> str:
    """One table under a sentence that says what was compared."""
    which = f"a drafter that sleeps {slow_ms:g} ms after each pass" if slow_ms else "the drafter as it is"
    body = [
        (one.method, f"{one.ratio:.2f}", f"{one.ratio_low:.2f} to {one.ratio_high:.2f}", f"{one.tokens_per_s:.0f}",
         f"{one.drafter_busy:.0%}", f"{one.target_busy:.0%}", f"{one.thrown:.2f}", f"{one.same_text}/{one.texts}")
        for one in rows
    ]  # fmt: skip
    said = (
        f"With {which}, temperature {args.temperature:g}, γ = {args.gamma}, AMUSD up to {args.ahead} tokens ahead and "
        f"{args.widest} in a pass:"
    )
    return f"{said}\n\n{markdown_table(HEAD, body)}"
