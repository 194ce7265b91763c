"""`specviz export`: write a trace for other tools: Markdown, GraphML, Perfetto, SVG, HTML, or an engine's acceptance.

Place in the flow: reads one file through the codec and hands it to the pure readers. Pictures of the player, and PNG,
are made where there is a screen: by *share* in the player, also in the exported HTML file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.errors import OptionError

if TYPE_CHECKING:
    from specviz.trace.events import Trace

ENGINES = ("vllm", "sglang", "aiperf", "llama.cpp")
SUFFIXES = {
    "md": ".md",
    "graphml": ".graphml",
    "svg": ".svg",
    "perfetto": ".lanes.json",
    "html": ".html",
    **{engine: f".{engine}.json" for engine in ENGINES},
}
OF_A_ROUND = ("md", "graphml", "svg")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", type=Path, help="a trace file, .json or .json.gz")
    parser.add_argument(
        "--as",
        dest="kind",
        required=True,
        choices=(*SUFFIXES, "png"),
        help="md: table of a round; graphml, svg: tree of a round; perfetto: lanes of the run; html: plays offline; "
        "vllm, sglang, aiperf, llama.cpp: how much was accepted, in their field names",
    )
    parser.add_argument("--round", type=int, metavar="N", help="the round (the first is 0)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where to write it; - prints it (default: next to the trace)"
    )


def run(args: argparse.Namespace) -> int:
    from specviz.trace import codec

    if args.kind == "png":
        raise OptionError(
            "a PNG is made where there is a screen: write --as html, open it and choose share, or --as svg."
        )
    if args.kind in OF_A_ROUND and args.round is None:
        raise OptionError(f"--as {args.kind} writes one round; add --round N.")
    if args.kind in ("perfetto", *ENGINES) and args.round is not None:
        raise OptionError(f"--as {args.kind} writes the whole run; leave --round away.")
    trace = codec.read(args.trace)
    content = WRITERS[args.kind](trace, args.round)
    if args.out == Path("-"):
        sys.stdout.buffer.write(content)
        return 0
    stem = args.trace.name.removesuffix(".gz").removesuffix(".json")
    suffix = "" if args.round is None else f"-round-{args.round}"
    target = args.out or args.trace.with_name(f"{stem}{suffix}{SUFFIXES[args.kind]}")
    target.write_bytes(content)
    print(f"wrote {target} ({len(content):,} bytes)")
    return 0


def _markdown(trace: Trace, index: int | None) -> bytes:
    from specviz.trace.exports.markdown import round_table

    return round_table(trace, index or 0).encode()


def _graphml(trace: Trace, index: int | None) -> bytes:
    from specviz.trace.exports.markdown import picked
    from specviz.trace.exports.tables import graphml, to_graph

    return graphml(to_graph(picked(trace, index or 0), trace))


def _svg(trace: Trace, index: int | None) -> bytes:
    from specviz.app.components.standalone import tree_svg

    return tree_svg(trace, index or 0).encode()


def _perfetto(trace: Trace, _: int | None) -> bytes:
    from specviz.trace.exports.perfetto import chrome_trace

    return json.dumps(chrome_trace(trace), separators=(",", ":"), allow_nan=False).encode()


def _html(trace: Trace, index: int | None) -> bytes:
    from specviz.app.components.standalone import standalone_html
    from specviz.trace import codec
    from specviz.trace.exports.markdown import picked

    if index is not None:
        picked(trace, index)
    moment = None if index is None else {"round": index, "beat": 0, "node": None}
    return standalone_html(codec.dumps(trace), moment).encode()


def _acceptance(engine: str) -> Callable[[Trace, int | None], bytes]:
    def write(trace: Trace, _: int | None) -> bytes:
        from specviz.protocol.acceptance import WRITERS, of_trace

        return json.dumps(WRITERS[engine](of_trace(trace)), allow_nan=False).encode() + b"\n"

    return write


def _timings(trace: Trace, _: int | None) -> bytes:
    from specviz.doctor.responses import timings_of

    return json.dumps(timings_of(trace), allow_nan=False).encode() + b"\n"


WRITERS: Mapping[str, Callable[[Trace, int | None], bytes]] = {
    "md": _markdown,
    "graphml": _graphml,
    "svg": _svg,
    "perfetto": _perfetto,
    "html": _html,
    **{engine: _acceptance(engine) for engine in ENGINES},
    "llama.cpp": _timings,
}
