"""`specviz replay`: show a trace in the terminal, round by round.

Place in the flow: reads one file through the codec and prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Set
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.cli.printed_run import (
    ANSWERS,
    TokenTexts,
    add_template_flag,
    header,
    hidden_tokens,
    label,
    prompt_text,
    show_summary,
)
from specviz.cli.terminal import MARKS, Terminal, out, printable, visible
from specviz.errors import OptionError
from specviz.theory.metrics import accepted_drafts, counted
from specviz.trace import cautions
from specviz.trace.events import LaneSpan, Node, Round, Trace, Trial
from specviz.trace.exports.markdown import picked
from specviz.trace.summary import behind_the_end, ends_text

if TYPE_CHECKING:
    from networkx import DiGraph

FATES = {"accepted": "accepted", "rejected": "rejected", "unreached": "unreached"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", type=Path, help="a trace file, .json or .json.gz")
    parser.add_argument("--round", type=int, metavar="N", help="show round N alone (the first is 0)")
    parser.add_argument(
        "--graph", metavar="OUT", type=Path, help="with --round: write its draft tree, .graphml or .json (node-link)"
    )
    add_template_flag(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.trace import codec

    trace = codec.read(args.trace)
    if args.graph is not None:
        _write_graph(trace, args)
    terminal = out()
    rounds = trace.rounds if args.round is None else [picked(trace, args.round)]
    for line in header(trace.started):
        terminal.line(terminal.paint(line, "dim"))
    notice = cautions.lossy_sentence(trace.started)
    if notice is not None:
        terminal.line(terminal.paint(f"✕ {printable(notice, keep='')}", "error"))
    if args.round is None:
        asked = prompt_text(trace.started, args.template)
        terminal.line(f"prompt {terminal.paint(visible(asked.removesuffix(ANSWERS)), 'bold')}")
    for one in rounds:
        terminal.line()
        show_round(terminal, trace, one)
    if args.round is None:
        terminal.line()
        _show_text(terminal, trace, args.template)
        show_summary(terminal, trace)
    return 0


def _write_graph(trace: Trace, args: argparse.Namespace) -> None:
    """One round's tree for graph tools. Raises OptionError where the round or the suffix is missing."""
    from specviz.trace.exports.tables import graphml, node_link_json, to_graph

    writers: dict[str, Callable[[DiGraph[int]], bytes]] = {
        ".graphml": graphml,
        ".json": lambda graph: node_link_json(graph).encode(),
    }
    if args.round is None:
        raise OptionError("--graph writes one round's tree; add --round N.")
    if args.graph.suffix not in writers:
        raise OptionError(f"--graph is '{args.graph.name}', but must end in .graphml or .json.")
    args.graph.write_bytes(writers[args.graph.suffix](to_graph(picked(trace, args.round), trace)))


def show_round(terminal: Terminal, trace: Trace, one: Round) -> None:
    """Heading, the tree with a fate per node, the token that ends the round, what was committed."""
    drafted, accepted = len(counted(one)), accepted_drafts(one)
    phases = (one.drafted.seconds, one.scored.seconds, one.judged.seconds, one.committed.seconds)
    times = " + ".join(f"{seconds * 1e3:.2f}" for seconds in phases)
    heading = f"round {one.index} · {one.base_length} tokens so far · {drafted} drafted, {accepted} accepted"
    terminal.line(terminal.paint(heading, "bold") + f" · {times} ms (draft, target pass, verdicts, commit)")
    trials = {trial.node: trial for trial in one.judged.trials}
    children: dict[int, list[Node]] = {}
    for node in one.nodes[1:]:
        children.setdefault(node.parent, []).append(node)
    stack, riding, behind = [one.nodes[0]], set(one.drafted.riding), behind_the_end(one)
    while stack:
        node = stack.pop()
        terminal.line(_node_line(terminal, trace, node, trials.get(node.id), _aside(node, riding, behind)))
        stack.extend(reversed(children.get(node.id, [])))
    _show_lanes(terminal, one)
    _show_end(terminal, trace, one)


def _aside(node: Node, riding: Set[int], behind: Set[int]) -> str:
    """What a verdict counts nowhere for; empty where it counts."""
    return "behind the end of the text" if node.id in behind else "rides along" if node.id in riding else ""


def _node_line(terminal: Terminal, trace: Trace, node: Node, trial: Trial | None, aside: str) -> str:
    mark = f"{'  ' * (node.depth + 1)}{MARKS[node.fate]} {visible(label(trace.vocab, node.token))}"
    if node.fate == "root":
        return terminal.paint(mark, "root")
    said = [aside, FATES[node.fate]] if aside else [FATES[node.fate]]
    p, q = (trial.target_prob, trial.draft_prob) if trial else (node.target_prob, node.draft_prob)
    said += [f"{name} {value:.4f}" for name, value in (("p", p), ("q", q)) if value is not None]
    if trial:
        verdict = "" if trial.u is None else f", u {trial.u:.4f} {'<' if trial.u < trial.threshold else '≥'} it"
        said.append(f"threshold {trial.threshold:.4f}{verdict}")
        if trial.accepted and node.fate == "rejected":
            said[said.index(FATES[node.fate])] = "passed"
            said.append("rejected: a longer path, or one drafted earlier, is kept")
    return f"{terminal.paint(f'{mark:<28}', node.fate)} {' · '.join(said)}"


def _show_lanes(terminal: Terminal, one: Round) -> None:
    """What a drafter did during the target's pass, and when, counted from the beginning of the round."""
    for lane in dict.fromkeys(span.lane for span in one.drafted.lanes):
        own = [span for span in one.drafted.lanes if span.lane == lane]
        drafted = sum(span.tokens for span in own if span.what == "draft")
        when = " · ".join(_when(span, one.start_s) for span in own)
        terminal.line(terminal.paint(f"  ∥ {printable(lane)}: {drafted} drafted · ms of the round: {when}", "dim"))


def _when(span: LaneSpan, start_s: float) -> str:
    begin, end = (f"{(moment - start_s) * 1e3:.1f}" for moment in (span.start_s, span.end_s))
    return f"{span.tokens} thrown away at {begin}" if span.what == "roll back" else f"{begin} to {end}"


def _show_end(terminal: Terminal, trace: Trace, one: Round) -> None:
    judged = one.judged
    token = visible(label(trace.vocab, judged.token))
    said = [f"{'behind the end of the text: ' if ends_text(one) else ''}{judged.origin} {token}"]
    if judged.origin == "correction":
        said.append("from the residual" if judged.residual else "from the target's distribution")
    if judged.residual_mass is not None:
        said.append(f"residual mass {judged.residual_mass:.4f}")
    if judged.u is not None:
        said.append(f"u {judged.u:.4f}")
    terminal.line(f"  → {terminal.paint(said[0], judged.origin)}{''.join(f' · {part}' for part in said[1:])}")
    committed = one.committed
    pieces = TokenTexts(trace.vocab)
    text = visible("".join(pieces.next(item.token) for item in committed.tokens) + pieces.rest())
    cut = f" · {committed.trimmed_tokens} cut off by {committed.trimmed}" if committed.trimmed else ""
    terminal.line(
        f"  = {terminal.paint(text, 'bold')} · {len(committed.tokens)} committed{cut}"
        f" · cache {committed.cache_before} → {committed.cache_kept} rows, {committed.cache_dropped} dropped"
    )


def _show_text(terminal: Terminal, trace: Trace, template: bool) -> None:
    """The whole text, each token in the colour of its origin."""
    pieces = TokenTexts(trace.vocab, hidden_tokens(trace.started, template))
    terminal.write(terminal.paint(printable(prompt_text(trace.started, template)), "dim"))
    for one in trace.rounds:
        for item in one.committed.tokens:
            style = "accepted" if item.origin == "draft" else item.origin
            terminal.write(terminal.paint(printable(pieces.next(item.token)), style))
    terminal.line(printable(pieces.rest()))
