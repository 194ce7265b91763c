"""A run as a terminal shows it: tokens as they come, and the lines under it: what was run, how much accepted, how fast.

Place in the flow: `run` and `replay` print tokens through it and end with it.
"""

from __future__ import annotations

import argparse
import base64
import codecs
from collections.abc import Collection, Mapping
from typing import Any

from specviz.cli.terminal import Terminal, printable
from specviz.theory import metrics
from specviz.theory.rows import NGRAM, repetition
from specviz.theory.slowdown import why_slower
from specviz.theory.speedup import at_least, gain, is_noisy
from specviz.trace import cautions
from specviz.trace.cautions import full_contexts
from specviz.trace.characters import legible
from specviz.trace.events import Trace, VocabEntry
from specviz.trace.header import MethodCard, Started, in_role


def header(started: Started) -> list[str]:
    """Two printable lines: which models and methods, which settings."""
    sampling = started.sampling
    settings = [f"temperature {sampling.temperature:g}"]
    if sampling.top_k:
        settings.append(f"top-k {sampling.top_k}")
    if sampling.top_p < 1:
        settings.append(f"top-p {sampling.top_p:g}")
    target = started.target
    lines = [
        f"{started.source} run {started.run_id} of {started.created}",
        f"{in_role('target', target.name)} ({target.architecture}, {_millions(target.parameters)}, {target.dtype})"
        f" · {methods(started)}",
        " · ".join([*settings, f"seed {started.seed}", f"at most {started.max_new_tokens} new tokens"]),
    ]
    return [printable(line, keep="") for line in lines]


def methods(started: Started) -> str:
    """Every method of the run by its kind; tree policy and stop policy where it names one."""
    cards = [
        ("drafter", started.drafter),
        ("tree policy", started.tree_policy),
        ("stop policy", started.stop_policy),
        ("verifier", started.verifier),
    ]
    return " · ".join(f"{kind} {method(card)}" for kind, card in cards if card is not None)


def method(card: MethodCard) -> str:
    """`model gamma=4 (drafter, 1.1 M)`."""
    options = "".join(f" {name}={option_text(value)}" for name, value in card.options.items())
    model = f" ({card.model.name}, {_millions(card.model.parameters)})" if card.model else ""
    return f"{card.name}{options}{model}{'' if card.lossless else ' [lossy]'}"


def option_text(value: Any) -> str:
    """An option as its flag takes it: `3,2,1`, `true`, `0.5`."""
    if isinstance(value, list | tuple):
        return ",".join(str(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def show_summary(terminal: Terminal, trace: Trace) -> None:
    """The block after the text; a lossy run says so in red, with what was measured of it."""
    notice = cautions.lossy_sentence(trace.started)
    if notice is not None:
        terminal.line(terminal.paint(f"{'✕ lossy':>22}  {printable(notice.removeprefix('lossy: '), keep='')}", "error"))
    for name, text in _rows(trace):
        terminal.line(f"{terminal.paint(f'{name:>22}', 'dim')}  {printable(text, keep='')}")


def _rows(trace: Trace) -> list[tuple[str, str]]:
    summary, finished = trace.summary, trace.finished
    rows = [
        ("run with", methods(trace.started)),
        *_number_format(trace.started),
        *_other_weights(trace.started),
        ("ended by", finished.reason + (f": {finished.message}" if finished.message else "")),
        ("output", f"{_many(summary.num_output_tokens, 'token')} in {_many(summary.num_target_passes, 'target pass')}"),
        ("repetition", f"{repetition(finished.output_ids):.0%} of its {NGRAM}-grams came before in it"),
    ]
    rate, length = metrics.acceptance_rate(trace.rounds), metrics.mean_acceptance_length(trace.rounds)
    if rate is not None and length is not None:
        accepted, drafted = metrics.num_accepted_draft_tokens(trace.rounds), metrics.num_draft_tokens(trace.rounds)
        rows.append(("acceptance rate", f"{rate:.3f} ({accepted} of {drafted} drafted tokens)"))
        rows.append(("mean acceptance length", f"{length:.2f} tokens per drafting round"))
        depths = [f"{kept / asked:.2f}" for asked, kept in metrics.acceptance_by_depth(trace.rounds) if asked]
        rows.append(("by position", " ".join(depths)))
    rows += [("context", sentence) for sentence in full_contexts(trace)]
    rows += _memory_bound(trace)
    if summary.tokens_per_second is not None:
        clock = "measured on this run's machine" if trace.started.source == "recorded" else "measured"
        rows.append(("speed", f"{summary.tokens_per_second:.1f} tokens/s ({clock}; {_prompt(trace)})"))
    return rows + _over_plain(trace)


def _prompt(trace: Trace) -> str:
    """What reading it took; recorders of engines that read it in the first round say so in that round's note."""
    inside = trace.rounds and "prompt" in trace.rounds[0].drafted.note
    return "its prompt was read meanwhile" if inside else f"prompt {trace.finished.prefill_s:.3f} s"


def _over_plain(trace: Trace) -> list[tuple[str, str]]:
    """What the run gained, as the player's headline says it; no line where no plain decoding was timed beside it."""
    ratio = gain(trace)
    if ratio is None:
        return []
    if is_noisy(trace):
        return [("over plain decoding", "too noisy to say here")]
    why, least = why_slower(trace), at_least(trace)
    speed = f"{ratio:.2f}×" if least is None else f"at least {least:.2f}×"
    return [("over plain decoding", f"{speed} as fast, measured{f'. {why}' if why else ''}")]


def _number_format(started: Started) -> list[tuple[str, str]]:
    """What `auto` took for the target, and why; no line where a format was asked for."""
    card = started.target
    return [("number format", f"{card.dtype}: {card.dtype_why}")] if card.dtype_why else []


def _other_weights(started: Started) -> list[tuple[str, str]]:
    """A warning where the drafter learnt from other weights of the same target; else no line."""
    warning = cautions.of_other_weights(started)
    return [("warning", warning)] if warning else []


def _memory_bound(trace: Trace) -> list[tuple[str, str]]:
    """MBSU with its cost ratio; no line for plain decoding, and none where the weights of its passes are not known."""
    value = metrics.mbsu(trace.started, trace.rounds)
    if value is None or trace.summary.num_spec_steps == 0:
        return []
    ratio = metrics.memory_ratio(trace.started, trace.rounds)
    passes = sum(len(this.drafted.passes) for this in trace.rounds)
    reads = trace.started.drafter.pass_reads
    how = (
        "its drafts read no weights, so tokens per target pass"
        if ratio is None
        else f"{passes / len(trace.rounds):.2f} drafter passes per round, target ÷ drafter bytes c = {ratio:.2f}"
        + (f"; a drafter pass reads {reads}" if reads else "")
    )
    return [("MBSU", f"{value:.2f} if reading weights were all that costs ({how})")]


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 'es' if noun.endswith('s') else 's'}"


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f} M" if count >= 1e5 else f"{count:,}"


ANSWERS = "\n\n"
"""between a message and its answer"""


def prompt_text(started: Started, template: bool) -> str:
    """What was asked, before its answer: of a chat the message alone, unless its `template` is asked for."""
    if started.chat_message is None or template:
        return started.prompt_text
    return f"{started.chat_message}{ANSWERS}"


def hidden_tokens(started: Started, template: bool) -> Collection[int]:
    """What an answer is printed without: of a chat the special tokens, which are its template's, unless that is asked
    for."""
    return () if started.chat_message is None or template else started.tokenizer.special_ids


def add_template_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--template", action="store_true", help="of a chat show the template around message and answer as well"
    )


class TokenTexts:
    """Decodes a stream of token ids. A character split over tokens appears with the token that completes it."""

    def __init__(self, vocab: Mapping[str, VocabEntry], hidden: Collection[int] = ()) -> None:
        """`vocab` may grow while the stream is read; `hidden` tokens have no text."""
        self.vocab = vocab
        self.hidden = hidden
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def next(self, token: int) -> str:
        """The text this token completes; empty inside a character."""
        if token in self.hidden:
            return ""
        entry = self.vocab.get(str(token))
        return self._decoder.decode(base64.b64decode(entry.bytes)) if entry else f"<{token}>"

    def rest(self) -> str:
        """What an unfinished character at the end leaves: U+FFFD or nothing."""
        return self._decoder.decode(b"", final=True)


def label(vocab: Mapping[str, VocabEntry], token: int) -> str:
    """A single token for display, where it stands alone (a node, a bar)."""
    entry = vocab.get(str(token))
    return legible(base64.b64decode(entry.bytes)) if entry else f"<{token}>"
