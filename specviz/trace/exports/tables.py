"""A trace as flat pandas tables whose columns have one plain type each, so that CSV and Parquet take them as they are.

Place in the flow: `Trace.tables`. Positions count from the first output token, 0; prompt tokens have negative ones, so
that the root of the first round stands at -1. One round's draft tree is a networkx graph too, checked to be a tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

import networkx as nx

from specviz.errors import TraceError
from specviz.trace.characters import token_alone
from specviz.trace.events import Agreement, Node, Round, Trace
from specviz.trace.summary import (
    acceptance_rate,
    accepted_drafts,
    behind_the_end,
    counted,
    mean_acceptance_length,
    num_accepted_draft_tokens,
    num_draft_tokens,
)

if TYPE_CHECKING:
    from specviz.trace.events import Round, Trace

Row = dict[str, Any]
INT, FLOAT, TEXT, FLAG = "Int64", "Float64", "string", "boolean"
"""pandas' types that know a missing value"""

AGREEMENT = ("target_bits", "draft_bits", "kl_bits", "overlap")
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "runs": {
        "run": TEXT, "created": TEXT, "producer": TEXT, "source": TEXT, "target": TEXT, "drafter": TEXT,
        "drafter_model": TEXT, "verifier": TEXT, "tree_policy": TEXT, "stop_policy": TEXT, "temperature": FLOAT,
        "top_k": INT, "top_p": FLOAT, "seed": INT, "max_new_tokens": INT, "prompt_name": TEXT, "prompt": TEXT,
        "prompt_tokens": INT, "output": TEXT, "output_tokens": INT, "rounds": INT, "drafted": INT, "accepted": INT,
        "acceptance_rate": FLOAT, "mean_acceptance_length": FLOAT, "decode_s": FLOAT, "tokens_per_second": FLOAT,
        "finish_reason": TEXT,
    },
    "rounds": {
        "run": TEXT, "round": INT, "position": INT, "start_s": FLOAT, "draft_s": FLOAT, "target_s": FLOAT,
        "judge_s": FLOAT, "commit_s": FLOAT, "draft_passes": INT, "target_rows": INT, "cache_before": INT,
        "cache_kept": INT, "cache_dropped": INT, "drafted": INT, "deepest": INT, "tested": INT, "accepted": INT,
        "committed": INT, "rule": TEXT, "order": TEXT, "final_node": INT, "token": INT, "text": TEXT, "origin": TEXT,
        "u": FLOAT, "residual_mass": FLOAT, "trimmed": TEXT,
    },
    "nodes": {
        "run": TEXT, "round": INT, "node": INT, "parent": INT, "depth": INT, "position": INT, "token": INT,
        "text": TEXT, "kind": TEXT, "fate": TEXT, "source": TEXT, "riding": FLAG, "behind_end": FLAG,
        "draft_prob": FLOAT, "target_prob": FLOAT, "rank": INT, **dict.fromkeys(AGREEMENT, FLOAT),
        **{f"raw_{name}": FLOAT for name in AGREEMENT},
    },
    "trials": {
        "run": TEXT, "round": INT, "trial": INT, "node": INT, "target_prob": FLOAT, "draft_prob": FLOAT,
        "threshold": FLOAT, "u": FLOAT, "accepted": FLAG,
    },
    "tokens": {
        "run": TEXT, "position": INT, "token": INT, "text": TEXT, "origin": TEXT, "round": INT, "node": INT,
    },
}  # fmt: skip
"""table → column → pandas type; `trials` has a column more per named term of the verifier"""


def tables(trace: Trace) -> dict[str, Any]:
    """`runs` (one line), `rounds`, `nodes`, `trials` and `tokens` as pandas DataFrames; `run` joins them over traces.

    In `nodes` the bits and the overlap are those of the distributions after the node, `raw_…` those of what the models
    themselves believe. Raises TraceError where pandas is not installed.
    """
    return {name: _frame(COLUMNS[name], list(rows)) for name, rows in lines(trace).items()}


def lines(trace: Trace) -> Mapping[str, Iterable[Row]]:
    """Table → its lines by column, for who writes them somewhere without pandas; each can be gone through once."""
    return {
        "runs": [_run(trace)],
        "rounds": (_round(trace, this) for this in trace.rounds),
        "nodes": _nodes(trace),
        "trials": _trials(trace),
        "tokens": _tokens(trace),
    }


def term_columns(trace: Trace) -> tuple[str, ...]:
    """What `trials` has beside its own columns: one per named term of the verifier, in the order of appearance."""
    return tuple(
        dict.fromkeys(map(_term, (name for this in trace.rounds for t in this.judged.trials for name in t.terms)))
    )


def _term(name: str) -> str:
    return f"term_{name}"


def _frame(columns: Mapping[str, str], rows: list[Row]) -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        raise TraceError("tables need pandas, which is not installed: pip install 'specviz[analysis]'.") from None
    found = {**columns, **{name: FLOAT for row in rows for name in row if name not in columns}}
    return pandas.DataFrame(
        {name: pandas.array([row.get(name) for row in rows], dtype=kind) for name, kind in found.items()}
    )


def _run(trace: Trace) -> Row:
    started, finished = trace.started, trace.finished
    return {
        "run": started.run_id,
        "created": started.created,
        "producer": started.producer,
        "source": started.source,
        "target": started.target.name,
        "drafter": started.drafter.name,
        "drafter_model": started.drafter.model.name if started.drafter.model else None,
        "verifier": started.verifier.name,
        "tree_policy": started.tree_policy.name if started.tree_policy else None,
        "stop_policy": started.stop_policy.name if started.stop_policy else None,
        "temperature": started.sampling.temperature,
        "top_k": started.sampling.top_k,
        "top_p": started.sampling.top_p,
        "seed": started.seed,
        "max_new_tokens": started.max_new_tokens,
        "prompt_name": started.prompt_name,
        "prompt": started.prompt_text,
        "prompt_tokens": len(started.prompt_ids),
        "output": finished.text,
        "output_tokens": len(finished.output_ids),
        "rounds": len(trace.rounds),
        "drafted": num_draft_tokens(trace.rounds),
        "accepted": num_accepted_draft_tokens(trace.rounds),
        "acceptance_rate": acceptance_rate(trace.rounds),
        "mean_acceptance_length": mean_acceptance_length(trace.rounds),
        "decode_s": finished.decode_s,
        "tokens_per_second": trace.summary.tokens_per_second,
        "finish_reason": finished.reason,
    }


def _round(trace: Trace, this: Round) -> Row:
    judged, committed = this.judged, this.committed
    candidates = counted(this)
    fates = [node.fate for node in candidates]
    return {
        "run": trace.started.run_id,
        "round": this.index,
        "position": this.base_length - len(trace.started.prompt_ids),
        "start_s": this.start_s,
        "draft_s": this.drafted.seconds,
        "target_s": this.scored.seconds,
        "judge_s": judged.seconds,
        "commit_s": committed.seconds,
        "draft_passes": len(this.drafted.passes),
        "target_rows": this.scored.target_pass.rows,
        "cache_before": committed.cache_before,
        "cache_kept": committed.cache_kept,
        "cache_dropped": committed.cache_dropped,
        "drafted": len(fates),
        "deepest": max((node.depth for node in candidates), default=0),
        "tested": fates.count("accepted") + fates.count("rejected"),
        "accepted": accepted_drafts(this),
        "committed": len(committed.tokens),
        "rule": judged.rule,
        "order": judged.order,
        "final_node": judged.final_node,
        "token": judged.token,
        "text": token_alone(trace, judged.token),
        "origin": judged.origin,
        "u": judged.u,
        "residual_mass": judged.residual_mass,
        "trimmed": committed.trimmed,
    }


def _nodes(trace: Trace) -> Iterator[Row]:
    prompt = len(trace.started.prompt_ids)
    for this in trace.rounds:
        riding, behind = set(this.drafted.riding), behind_the_end(this)
        for node in this.nodes:
            yield {
                "run": trace.started.run_id,
                "round": this.index,
                "node": node.id,
                "parent": None if node.parent < 0 else node.parent,
                "depth": node.depth,
                "position": this.base_length - prompt + node.depth - 1,
                "token": node.token,
                "text": token_alone(trace, node.token),
                "kind": node.kind,
                "fate": node.fate,
                "source": node.source,
                "riding": node.id in riding,
                "behind_end": node.id in behind,
                "draft_prob": node.draft_prob,
                "target_prob": node.target_prob,
                "rank": node.rank,
                **_numbers(node.agreement, ""),
                **_numbers(node.agreement_raw, "raw_"),
            }


def _numbers(agreement: Agreement | None, prefix: str) -> Row:
    return {f"{prefix}{name}": getattr(agreement, name, None) for name in AGREEMENT}


def _trials(trace: Trace) -> Iterator[Row]:
    for this in trace.rounds:
        for index, trial in enumerate(this.judged.trials):
            yield {
                "run": trace.started.run_id,
                "round": this.index,
                "trial": index,
                "node": trial.node,
                "target_prob": trial.target_prob,
                "draft_prob": trial.draft_prob,
                "threshold": trial.threshold,
                "u": trial.u,
                "accepted": trial.accepted,
                **{_term(name): value for name, value in trial.terms.items()},
            }


def _tokens(trace: Trace) -> Iterator[Row]:
    prompt, run = trace.started.prompt_ids, trace.started.run_id
    for position, token in enumerate(prompt, start=-len(prompt)):
        yield {"run": run, "position": position, "token": token, "text": token_alone(trace, token), "origin": "prompt"}
    for this in trace.rounds:
        for position, made in enumerate(this.committed.tokens, start=this.base_length - len(prompt)):
            yield {
                "run": run,
                "position": position,
                "token": made.token,
                "text": token_alone(trace, made.token),
                "origin": made.origin,
                "round": this.index,
                "node": made.node,
            }


def to_graph(this: Round, trace: Trace | None = None) -> nx.DiGraph[int]:
    """Nodes carry token, depth, fate, kind, probabilities and place; with `trace`, the token's text too.

    Edges run from parent to child and carry `order`, the draw order among siblings, and `accepted`.
    Raises TraceError where the parents do not make a tree rooted at node 0.
    """
    graph: nx.DiGraph[int] = nx.DiGraph(round=this.index, base_length=this.base_length, rule=this.judged.rule)
    children: dict[int, int] = {}
    for node in this.nodes:
        graph.add_node(node.id, **_attributes(node, trace))
    for node in this.nodes:
        if node.parent >= 0:
            order = children[node.parent] = children.get(node.parent, -1) + 1
            graph.add_edge(node.parent, node.id, order=order, accepted=node.fate == "accepted")
    if not nx.is_arborescence(graph) or graph.in_degree(0) != 0:
        raise TraceError(f"rounds[{this.index}].nodes do not form one tree under node 0; check their parents.")
    return graph


def _attributes(node: Node, trace: Trace | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "token": node.token,
        "depth": node.depth,
        "fate": node.fate,
        "kind": node.kind,
        "source": node.source,
        "x": node.x,
        "y": node.y,
    }
    if trace is not None:
        attributes["text"] = token_alone(trace, node.token)
    for name in ("target_prob", "draft_prob"):
        if (value := getattr(node, name)) is not None:
            attributes[name] = value
    return attributes


def node_link_json(graph: nx.DiGraph[int]) -> str:
    """networkx's node-link JSON, read back by `nx.node_link_graph(json.loads(...), edges="edges")`."""
    return json.dumps(nx.node_link_data(graph, edges="edges"), sort_keys=True, allow_nan=False)


def graphml(graph: nx.DiGraph[int]) -> bytes:
    """GraphML, opened by Gephi, yEd or Cytoscape. Control characters, which XML cannot hold, show as U+FFFD."""
    printable = graph.copy()
    for _, attributes in printable.nodes(data=True):
        if "text" in attributes:
            attributes["text"] = "".join(_xml_character(character) for character in attributes["text"])
    buffer = BytesIO()
    nx.write_graphml_xml(printable, buffer, encoding="utf-8")
    return buffer.getvalue()


def _xml_character(character: str) -> str:
    allowed = character in "\t\n\r" or " " <= character < "\ufffe" or character > "\uffff"
    return character if allowed else "\ufffd"
