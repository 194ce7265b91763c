"""`specviz datastore`: build the text that rest and rasd retrieve from.

Place in the flow: arguments → texts → `specviz.datastore` → one file.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.cli.terminal import Terminal, bar, out, printable
from specviz.errors import DatastoreError

if TYPE_CHECKING:
    from specviz.datastore.store import Datastore

LOOKUPS = 200
LONGEST = 16


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("build", "show"), help="make one, or say what one holds")
    parser.add_argument(
        "--corpus",
        metavar="FOLDER",
        type=Path,
        help="build: every UTF-8 file below FOLDER (default: the training text, Python and plain English)",
    )
    parser.add_argument(
        "--out", metavar="FILE", type=Path, help="the datastore (default: where runs look, in the user's cache)"
    )
    parser.add_argument(
        "--tokenizer", metavar="TARGET", default="target", help="the model whose tokenizer is used (default: target)"
    )


def run(args: argparse.Namespace) -> int:
    from specviz.datastore.retrieval import place_of
    from specviz.datastore.store import read
    from specviz.lm.place import locate
    from specviz.lm.text import TextCodec

    codec = TextCodec.from_folder(locate(args.tokenizer), args.tokenizer)
    path = args.out if args.out is not None else place_of(codec)
    if args.action == "build":
        _build(args, codec, path)
    elif args.corpus is not None:
        raise DatastoreError("--corpus says what to build from; leave it out to show a datastore.")
    _show(out(), path, read(path))
    return 0


def _build(args: argparse.Namespace, codec: Any, path: Path) -> None:
    from specviz.datastore.retrieval import folder_texts, library
    from specviz.datastore.store import build, write

    if args.corpus is not None and not args.corpus.is_dir():
        raise DatastoreError(f"there is no folder '{args.corpus}'; check the path.")
    began = time.perf_counter()
    texts = library(args.tokenizer) if args.corpus is None else folder_texts(args.corpus)
    name = "the training text" if args.corpus is None else args.corpus.resolve().name
    progress = _Progress()
    store = build(name, texts, codec, progress)
    progress.close()
    write(store, path)
    out().line(f"{'built in':>12}  {time.perf_counter() - began:.1f} s")


class _Progress:
    """One bar per stage."""

    def __init__(self) -> None:
        self._stage, self._bar = "", bar(0, "", shown=False)

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self.close()
            self._stage, self._bar = stage, bar(total, stage)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


def _show(terminal: Terminal, path: Path, store: Datastore) -> None:
    card = store.card
    terminal.line(f"{'datastore':>12}  {printable(str(path), keep='')}")
    terminal.line(f"{'text':>12}  {printable(card.name, keep='')}: {card.documents:,} files, {card.tokens:,} tokens")
    terminal.line(f"{'size':>12}  {card.size_bytes / 1e6:.1f} MB")
    terminal.line(
        f"{'one lookup':>12}  {_lookup_s(store) * 1e6:.0f} µs, the mean of {LOOKUPS} suffixes of its own text"
    )


def _lookup_s(store: Datastore) -> float:
    """Mean seconds of finding the longest suffix, at places spread evenly over the text."""
    step = max(1, (len(store.ids) - LONGEST) // LOOKUPS)
    contexts = [store.ids[i : i + LONGEST].tolist() for i in range(0, max(1, len(store.ids) - LONGEST), step)]
    began = time.perf_counter()
    for context in contexts:
        store.longest(context, 1, LONGEST)
    return (time.perf_counter() - began) / len(contexts)
