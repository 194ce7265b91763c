"""One round as a Markdown table, for a handout, an issue or a lecture's notes.

Place in the flow: reads a trace, gives text; `assets/js/rules/exports.js` writes the same text in the browser.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from specviz.errors import OptionError
from specviz.trace.characters import token_alone
from specviz.trace.events import Node, Round, TopK, Trace, Trial
from specviz.trace.summary import behind_the_end, ends_text

PROMPT = 60
"""characters of a prompt without a name that are shown"""
BEHIND = "behind the end"
"""in place of the fate of what was judged behind the end of the text"""
BELIEVED = "p and q are what the models believe before temperature 0, at which the target's first choice decides."
HEAD = ("node", "parent", "token", "fate", "p (target)", "q (draft)", "acceptance probability", "u")


def round_table(trace: Trace, index: int) -> str:
    """Round `index` (the first is 0): its candidates with their verdicts, and the token that ends it.

    p and q of a tried candidate are those of its trial: after the rejections before it; at temperature 0 they are what
    both models believe before it, as on the player's card. Raises OptionError where there is no such round.
    """
    this = picked(trace, index)
    trials, behind = {trial.node: trial for trial in this.judged.trials}, behind_the_end(this)
    rows = [HEAD, ("---",) * len(HEAD)]
    rows += [_row(trace, this, node, trials.get(node.id), node.id in behind) for node in this.nodes if node.id > 0]
    lines = [f"## Round {index + 1} of {len(trace.rounds)}", "", _run(trace), ""]
    lines += [f"| {' | '.join(row)} |" for row in rows] if len(this.nodes) > 1 else ["Nothing was drafted."]
    lines += ["", BELIEVED] if any(_cold(trace, this.nodes[node.parent]) for node in this.nodes if node.id > 0) else []
    return "\n".join([*lines, "", _end(trace, this), ""])


def picked(trace: Trace, index: int) -> Round:
    """The round. Raises OptionError for a number that is none of the trace's."""
    if not 0 <= index < len(trace.rounds):
        have = f"rounds 0 to {len(trace.rounds) - 1}" if trace.rounds else "no rounds"
        raise OptionError(f"there is no round {index}; this trace has {have}.")
    return trace.rounds[index]


def _run(trace: Trace) -> str:
    started = trace.started
    methods = [
        card.name for card in (started.drafter, started.tree_policy, started.stop_policy, started.verifier) if card
    ]
    return (
        f"Prompt {code(_prompt(trace))}, {' + '.join(methods)}, temperature {started.sampling.temperature:g}, "
        f"seed {started.seed}; {started.source} run {started.run_id}."
    )


def _prompt(trace: Trace) -> str:
    """Its name in the prompt set, or its end: a handout needs no page of code before its table."""
    started = trace.started
    return started.prompt_name or f"{'…' * (len(started.prompt_text) > PROMPT)}{started.prompt_text[-PROMPT:]}"


def _row(trace: Trace, this: Round, node: Node, trial: Trial | None, behind: bool) -> tuple[str, ...]:
    p, q = (trial.target_prob, trial.draft_prob) if trial else (node.target_prob, node.draft_prob)
    parent = this.nodes[node.parent]
    cold = _cold(trace, parent)
    return (
        str(node.id),
        "root" if node.parent == 0 else str(node.parent),
        code(token_alone(trace, node.token)),
        BEHIND if behind else node.fate,
        _believed(parent.target_raw, node.token) if cold else number(p),
        _believed(parent.draft_raw, node.token) if cold else number(q),
        number(trial.threshold if trial else None),
        number(trial.u if trial else None),
    )


def _cold(trace: Trace, parent: Node) -> bool:
    """Temperature 0, and the trace says what the target believes before it."""
    return trace.started.sampling.temperature == 0 and parent.target_raw is not None


def _believed(head: TopK | None, token: int) -> str:
    """Its probability there; what it can have at most where it is not listed."""
    if head is None:
        return number(None)
    if token in head.tokens:
        return number(head.probs[head.tokens.index(token)])
    return f"<{number(min([head.rest, *head.probs[-1:]]))}"


def _end(trace: Trace, this: Round) -> str:
    judged, committed = this.judged, this.committed
    mass = "" if judged.residual_mass is None else f" from the residual (mass {number(judged.residual_mass)})"
    drawn = "" if judged.u is None else f", drawn with u {number(judged.u)}"
    count = len(committed.tokens)
    made = f"{count} token{'' if count == 1 else 's'} from one target pass over {this.scored.target_pass.rows} rows."
    if ends_text(this):
        last = code(token_alone(trace, committed.tokens[-1].token))
        return f"The text ends with {last}: what was judged behind it is no text; {made}"
    return f"The round ends with the {judged.origin} {code(token_alone(trace, judged.token))}{mass}{drawn}; {made}"


def number(value: float | None) -> str:
    """Four decimals, halves up as in the browser; a dash where there is none."""
    if value is None:
        return "–"
    return str(Decimal(value).quantize(Decimal("0.0001"), ROUND_HALF_UP))


def code(text: str) -> str:
    """Any text as one code span that no cell of a table and no line can end."""
    shown = text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
    shown = re.sub(r"[\x00-\x1f\x7f\u2028\u2029]", "\ufffd", shown).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{shown}{space}{fence}" if shown else "(no text)"
