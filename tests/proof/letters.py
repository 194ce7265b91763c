"""A tokenizer of one letter per id for toy models: 0 is `<end>`, 1 is `a`, 2 is `b`, …"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from specviz.datastore.store import Datastore, from_ids
from specviz.live.source import LiveSource, collect
from specviz.lm.load import LoadedModel
from specviz.lm.table import TableModel
from specviz.protocol.choice import with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from specviz.trace.events import Trace


class Letters:
    name = "letters"
    sha256 = "1e77e25"
    special_ids = (0,)

    def __init__(self, size: int, eos_ids: tuple[int, ...] = ()) -> None:
        self.size = size
        self.eos_ids = eos_ids

    def encode(self, text: str) -> list[int]:
        return [0 if one == "<end>" else ord(one) - 96 for one in re.findall("<end>|.", text)]

    def without_added(self, ids: Sequence[int]) -> Sequence[int]:
        return ids

    def token(self, token: int) -> str:
        return self.token_bytes(token).decode()

    def token_bytes(self, token: int) -> bytes:
        return b"<end>" if token == 0 else chr(96 + token).encode()

    def decode(self, ids: Iterable[int]) -> str:
        return b"".join(map(self.token_bytes, ids)).decode()


def toy_loader(size: int = 6, eos_ids: tuple[int, ...] = (), context: int = 64) -> Callable[..., LoadedModel]:
    """Stands in for `load`: the toy models `target`, `drafter` and `drafter-weak`, also by their names in a trace, and
    `twin`, the target itself."""
    seeds = {"target": 1, "drafter": 2, "twin": 1, "drafter-weak": 3}
    seeds |= {f"table-{size}-{seed}": seed for seed in seeds.values()}

    def load(name: str, device: str, dtype: str) -> LoadedModel:
        model = TableModel(size, seeds[name], context, order=4, eos_ids=eos_ids)
        return LoadedModel(model, Letters(size, eos_ids), model.info)

    return load


class LetterTexts:
    """Stands in for `Datastores`: one small text of letters, whatever is asked for."""

    def get(self, codec: Letters, target: str, file: str, status: object) -> Datastore:
        text = [1, 2, 3, 4, 5, 1, 3, 2, 5, 4, 1, 1, 2, 2, 3, 5]
        return from_ids("letters", [("one", text)], codec.sha256, codec.size)


def toy_source(**toy: Any) -> LiveSource:
    """Runs the toy models of `toy_loader`, and measures nothing."""
    return LiveSource(load=toy_loader(**toy), measure=False, datastores=LetterTexts())


def toy_run(source: LiveSource | None = None, prompt: str = "abcab", **changes: Any) -> Trace:
    """24 tokens of the toy models, in which the check of traces finds nothing; `changes` as a form names them."""
    request = replace(RunRequest(prompt, max_new_tokens=24), **with_choices(changes))
    trace = collect(source or toy_source(), request)
    assert check(trace) == []
    return trace
