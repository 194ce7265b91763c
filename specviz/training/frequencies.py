"""Counts the tokens of raw text, of the drafter's text and of the target's: the tables behind a smaller draft head.

Place in the flow: after training; `specviz study heads --count` keeps the result. Raw text and the beginnings that the
models go on from are training text of both halves, never held-out; the held-out text goes on from the prompt set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.corpus.standard_library import Document, position_of
from specviz.drafters.base import DRAFTERS
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import TrainingError
from specviz.lm.load import LoadedModel
from specviz.lm.text import TextCodec
from specviz.theory.token_frequencies import HELD_OUT, FrequencyTable, TokenCounts
from specviz.verifiers.base import VERIFIERS

ENGLISH = "english"
"""kind of the documents in plain English"""
PREFIX_CHARS = 400
"""of a file, from a place that depends on its name alone"""


@dataclass(frozen=True, slots=True)
class CountPlan:
    """How much text."""

    texts: int = 200
    """beginnings that each model goes on from"""
    tokens: int = 96
    """that it writes after each"""
    raw_bytes: int = 8_000_000
    """of training text"""
    seed: int = 0
    """chooses files, places and samples"""
    temperature: float = 1.0
    """models write by their own law"""


def count_all(
    target: LoadedModel,
    drafter: LoadedModel,
    documents: Sequence[Document],
    prompts: Sequence[str],
    plan: CountPlan,
    done: Callable[[str], None] = lambda what: None,
) -> FrequencyTable:
    """The whole table; `done` hears what was counted. Raises TrainingError where there is no text."""
    if not documents or not prompts:
        raise TrainingError("there is no text to count; give at least one document and one prompt.")
    text = target.tokenizer
    starts = beginnings(documents, plan)
    texts = {"raw": _raw(text, documents, plan)}
    done("raw")
    for name, model, held in (("drafter", drafter, starts), ("target", target, starts), (HELD_OUT, target, prompts)):
        what = "prompts of the set" if name == HELD_OUT else "beginnings cut from training text"
        written = f"text of {model.info.name} at temperature {plan.temperature:g}, {plan.tokens} tokens after each of "
        counts = _counted((new for _, new in continuations(model, held, plan)), text.size)
        texts[name] = TokenCounts(f"{written}{len(held)} {what}", counts, model.info.weights_sha256)
        done(name)
    return FrequencyTable(text.sha256, text.name, text.special_ids, texts)


def beginnings(documents: Sequence[Document], plan: CountPlan) -> list[str]:
    """Cuts of training text, one per document, as many of each half; documents and places chosen by the seed. The
    first part of a short one."""
    cuts = []
    for half, share in halves(documents, plan.texts):
        for document in sorted(half, key=lambda document: position_of(document.path, plan.seed + 1))[:share]:
            length = min(PREFIX_CHARS, max(1, len(document.text) // 2))
            room = len(document.text) - length if length == PREFIX_CHARS else 1
            start = int(position_of(document.path, plan.seed + 2) * room)
            cuts.append(document.text[start : start + length])
    return cuts


def halves(documents: Sequence[Document], amount: int) -> list[tuple[list[Document], int]]:
    """The documents in plain English and the others, each with its part of an amount; one alone takes it all."""
    found = [[document for document in documents if (document.kind == ENGLISH) is english] for english in (True, False)]
    filled = [half for half in found if half]
    return [(half, ceil(amount / len(filled))) for half in filled]


def _raw(text: TextCodec, documents: Sequence[Document], plan: CountPlan) -> TokenCounts:
    """Training documents in the seed's order, as many bytes of each half, up to the limit."""
    ids, total, files = Counter[int](), 0, 0
    for half, most in halves(documents, plan.raw_bytes):
        read = 0
        for document in sorted(half, key=lambda document: position_of(document.path, plan.seed + 3)):
            if read >= most:
                break
            ids.update(text.encode(document.text))
            read, files = read + document.n_bytes, files + 1
        total += read
    counts = tuple(ids[token] for token in range(text.size))
    return TokenCounts(f"{files} training documents, {total} bytes", counts)


def continuations(model: LoadedModel, starts: Sequence[str], plan: CountPlan) -> Iterable[tuple[list[int], list[int]]]:
    """(the beginning, what the model writes after it by plain decoding) of each; an over-long beginning loses its
    head."""
    plain, verifier = DRAFTERS.get("none"), VERIFIERS.get("sequential")
    room = model.info.context_length - plan.tokens
    for number, start in enumerate(starts):
        method = Method(
            plain.of({}),
            verifier.of({}),
            Sampling(plan.temperature),
            SeededRandom(plan.seed + number),
        )
        ids = model.tokenizer.encode(start)[-room:]
        ending = Ending(Limits(plan.tokens, frozenset(model.info.eos_ids)), lambda token: b"")
        session = Session(model.model, method, Start(ids), ending)
        session.begin()
        while session.finished is None:
            session.round()
        yield ids, session.tokens[len(ids) :]


def _counted(texts: Iterable[list[int]], size: int) -> tuple[int, ...]:
    ids = Counter[int]()
    for text in texts:
        ids.update(text)
    return tuple(ids[token] for token in range(size))
